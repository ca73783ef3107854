"""Hooks that both hosts share."""

from pathlib import Path
from typing import Any

import mmcv
from mmengine.hooks import Hook
from mmengine.registry import HOOKS as ROOT_HOOKS
from mmengine.runner import Runner

from ..layers import ACmix
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


@register(ROOT_HOOKS)
class LogScalesHook(Hook):
    """Log α and β of ACmix: their means with the losses, each layer's at the end.

    α weighs the attention path, β the convolution path.

    Args:
        interval: Iterations between two looks at them.
    """

    def __init__(self, interval: int = 50) -> None:
        self.interval = interval

    def after_train_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: Any = None,
        outputs: Any = None,
    ) -> None:
        if not self.every_n_train_iters(runner, self.interval):
            return
        for name, scales in self._scales(runner).items():
            mean = sum(scales.values()) / len(scales)
            runner.message_hub.update_scalar(f'train/{name}', mean)

    def after_train(self, runner: Runner) -> None:
        for name, scales in self._scales(runner).items():
            listed = ', '.join(f'{layer} {v:.4f}' for layer, v in scales.items())
            runner.logger.info(f'ACmix {name}: {listed}')

    @staticmethod
    def _scales(runner: Runner) -> dict[str, dict[str, float]]:
        """'alpha' and 'beta' → layer → value, of the layers that have it."""
        scales: dict[str, dict[str, float]] = {}
        for layer, module in runner.model.named_modules():
            for name in ('alpha', 'beta'):
                if isinstance(module, ACmix) and hasattr(module, name):
                    scales.setdefault(name, {})[layer] = getattr(module, name).item()
        return scales
