"""Hooks that both hosts share."""

from pathlib import Path
from typing import Any

import mmcv
from mmengine.hooks import Hook
from mmengine.registry import HOOKS as ROOT_HOOKS
from mmengine.runner import Runner

from ..registry import register

SCORE_THRESHOLD = 0.4


@register(ROOT_HOOKS)
class DrawResultsHook(Hook):
    """Write a picture per tested image: the truth on the left, the prediction right.

    Args:
        out_dir: Folder of the pictures, named as the images.
    """

    def __init__(self, out_dir: str) -> None:
        self.out_dir = Path(out_dir)

    def before_test(self, runner: Runner) -> None:
        self.out_dir.mkdir(parents=True, exist_ok=True)

    def after_test_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: Any = None,
        outputs: Any = None,
    ) -> None:
        for sample in outputs:
            is_detection = 'pred_instances' in sample
            runner.visualizer.add_datasample(
                'result',
                mmcv.imread(sample.img_path, channel_order='rgb'),
                data_sample=sample,
                out_file=str(self.out_dir / Path(sample.img_path).name),
                **(dict(pred_score_thr=SCORE_THRESHOLD) if is_detection else {}),
            )
