"""The one base class: a stem and stages become a pyramid of feature maps."""

import logging
from collections.abc import Callable, Sequence

import torch
from mmcv.cnn import build_norm_layer
from mmengine.logging import print_log
from mmengine.model import BaseModule
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from ..checkpoints.io import load_pretrained
from ..checkpoints.release import Release
from ..layers.checkpointing import checkpointed

STEM_STRIDE = 4
Layer = Callable[..., nn.Module]


class Stage(nn.Module):
    """Downsampling (identity in the first stage), then the blocks.

    Args:
        downsample: Halves the side, or keeps it.
        blocks: The stage's blocks.
        with_cp: Compute the blocks' activations again in the backward pass.
    """

    def __init__(
        self, downsample: nn.Module, blocks: Sequence[nn.Module], with_cp: bool
    ) -> None:
        super().__init__()
        self.downsample = downsample
        self.blocks = nn.ModuleList(blocks)
        self.with_cp = with_cp

    def forward(self, x: Tensor) -> Tensor:
        x = self.downsample(x)
        for block in self.blocks:
            x = checkpointed(block, x) if self.with_cp and self.training else block(x)
        return x


class PyramidBackbone(BaseModule):
    """Backbone whose stage i gives a map of stride 4·2^i.

    Stages behind the last of `out_indices` are dropped, so every parameter has a
    gradient. Sides round up: stage i of an H×W picture is ceil(H / stride) high.

    Args:
        stem: Picture → features of stride 4.
        stages: Each halves the side of the one before; the first keeps it.
        stage_channels: Output channels of each stage.
        norms: Output norm of each stage, applied to the pyramid's maps alone.
        out_indices: Stages whose maps are returned, ascending.
        frozen_stages: −1 freezes nothing, 0 the stem, k the stem and stages 1…k:
            no gradients, norms in eval mode. Output norms are no part of a stage and
            stay trainable: no ImageNet weights hold them.
        norm_eval: Batch norms use (and keep) their running statistics while training;
            weight and bias still learn. Only sensible with loaded weights.
        init_cfg: MMEngine's. `dict(type='Pretrained', checkpoint=…)` reads any wrapping
            (`model`, `state_dict`, EMA; `module.`, `backbone.`), reports what it loaded
            and raises where that is under 90 %.

    Attributes:
        release: State dicts of the family's release, which load through a pre-hook.
        out_indices, out_channels, strides: One entry per returned map.

    Shape:
        input (B, in_channels, H, W), any H, W ≥ 1; output: tuple of
        (B, out_channels[i], ceil(H / strides[i]), ceil(W / strides[i])).

    Raises:
        ValueError: If `out_indices` or `frozen_stages` is out of range.
    """

    release: Release

    def __init__(
        self,
        stem: nn.Module,
        stages: Sequence[nn.Module],
        stage_channels: Sequence[int],
        norms: Sequence[nn.Module],
        out_indices: Sequence[int] = (0, 1, 2, 3),
        frozen_stages: int = -1,
        norm_eval: bool = False,
        init_cfg: dict | list[dict] | None = None,
    ) -> None:
        super().__init__(init_cfg)
        self.out_indices = _checked_out_indices(out_indices, len(stages))
        if not -1 <= frozen_stages <= len(stages):
            raise ValueError(
                f'frozen_stages must be -1 (nothing), 0 (the stem) or 1 to '
                f'{len(stages)} (stages), got {frozen_stages}'
            )
        self.frozen_stages = frozen_stages
        self.norm_eval = norm_eval
        self.out_channels = tuple(stage_channels[i] for i in self.out_indices)
        self.strides = tuple(STEM_STRIDE * 2**i for i in self.out_indices)
        self.stem = stem
        self.stages = nn.ModuleList(stages[: self.out_indices[-1] + 1])
        self.norms = nn.ModuleDict({str(i): norms[i] for i in self.out_indices})
        self._warned_untrained = False
        self._freeze()
        # The public method of this name is younger than PyTorch 2.4.
        self._register_load_state_dict_pre_hook(self.release.adapt, with_module=True)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        if x.device.type == 'cpu':
            # Depthwise kernels run faster on it; every layer passes it on.
            x = x.contiguous(memory_format=torch.channels_last)
        x = self.stem(x)
        pyramid = []
        for i, stage in enumerate(self.stages):
            x = stage(x)
            if i in self.out_indices:
                pyramid.append(self.norms[str(i)](x))
        return tuple(pyramid)

    def init_weights(self) -> None:
        """Initialise as `init_cfg` says; Pretrained weights are read by our reader."""
        cfg = self.init_cfg
        if isinstance(cfg, dict) and cfg.get('type') == 'Pretrained':
            report = load_pretrained(self, cfg['checkpoint'], self.release)
            print_log(report, logger='current')
            self._is_init = True
        else:
            super().init_weights()

    def train(self, mode: bool = True) -> 'PyramidBackbone':
        super().train(mode)
        self._freeze()
        if mode and self.norm_eval:
            self._warn_if_untrained()
        return self

    def _freeze(self) -> None:
        """Apply `frozen_stages` and `norm_eval` to modes and gradients."""
        frozen = [self.stem, *self.stages][: self.frozen_stages + 1]
        for module in frozen:
            module.eval()
            module.requires_grad_(False)
        if self.norm_eval:
            for module in self.modules():
                if isinstance(module, _BatchNorm):
                    module.eval()

    def _warn_if_untrained(self) -> None:
        """Say once that norms in eval mode have never seen data."""
        body = [m for part in (self.stem, self.stages) for m in part.modules()]
        norms = [m for m in body if isinstance(m, _BatchNorm) and not m.weight.is_meta]
        untrained = norms and all(
            bool(m.running_mean.eq(0).all() and m.running_var.eq(1).all())
            for m in norms
        )
        if untrained and not self._warned_untrained:
            self._warned_untrained = True
            print_log(
                f'{type(self).__name__} trains with norm_eval=True, but its norms '
                'hold mean 0 and variance 1: no weights were loaded. Set '
                'model.backbone.norm_eval=False to train from scratch, or '
                'model.backbone.init_cfg to a checkpoint.',
                logger='current',
                level=logging.WARNING,
            )


def make_norm(norm_cfg: dict, dim: int) -> nn.Module:
    """Build the norm of a config for `dim` channels."""
    return build_norm_layer(norm_cfg, dim)[1]


def drop_path_rates(rate: float, depths: Sequence[int]) -> list[list[float]]:
    """Rates from 0 to `rate`, linear in the block's number, split by stage."""
    rates = torch.linspace(0, rate, sum(depths), device='cpu').split(list(depths))
    return [stage.tolist() for stage in rates]


def _checked_out_indices(indices: Sequence[int], num_stages: int) -> tuple[int, ...]:
    indices = tuple(indices)
    in_range = all(isinstance(i, int) and 0 <= i < num_stages for i in indices)
    if not indices or not in_range or list(indices) != sorted(set(indices)):
        raise ValueError(
            f'out_indices must be ascending stage numbers in 0…{num_stages - 1}, '
            f'got {indices}'
        )
    return indices
