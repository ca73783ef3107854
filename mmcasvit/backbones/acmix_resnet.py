"""ResNet whose 3×3 convolutions are ACmix."""

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial

from torch import Tensor, nn

from ..checkpoints.acmix_resnet import RELEASE
from ..layers import ACmix
from ..registry import MODELS, register
from .archs import ACMIX_RESNET_ARCHS, NUM_STAGES, find_arch
from .pyramid import Layer, PyramidBackbone, Stage, make_norm

EXPANSION = 4


class Bottleneck(nn.Module):
    """x ← act(shortcut(x) + norm(1×1(act(norm(mix(act(norm(1×1(x)))))))).

    Args:
        in_dim: Input channels.
        dim: Channels in the middle; the output has four times as many.
        stride: Of the mixing layer and the shortcut.
        mix: Makes the layer in the middle: ACmix or a 3×3 convolution.
        norm_layer: Makes a norm from a channel count.

    Shape:
        input (B, in_dim, H, W), output (B, 4·dim, ceil(H/stride), ceil(W/stride)).

    Source:
        Deep Residual Learning, arXiv 1512.03385, with the stride in the middle; ACmix,
        arXiv 2111.14556, Sec. 5.
    """

    def __init__(
        self, in_dim: int, dim: int, stride: int, mix: Layer, norm_layer: Layer
    ) -> None:
        super().__init__()
        out_dim = EXPANSION * dim
        self.conv1 = nn.Conv2d(in_dim, dim, 1, bias=False)
        self.norm1 = norm_layer(dim)
        self.conv2 = mix(dim, dim, 3, stride=stride, padding=1, bias=False)
        self.norm2 = norm_layer(dim)
        self.conv3 = nn.Conv2d(dim, out_dim, 1, bias=False)
        self.norm3 = norm_layer(out_dim)
        self.act = nn.ReLU(inplace=True)
        self.downsample = nn.Sequential()
        if stride != 1 or in_dim != out_dim:
            self.downsample = nn.Sequential(
                OrderedDict(
                    conv=nn.Conv2d(in_dim, out_dim, 1, stride=stride, bias=False),
                    norm=norm_layer(out_dim),
                )
            )

    def forward(self, x: Tensor) -> Tensor:
        out = self.act(self.norm1(self.conv1(x)))
        out = self.act(self.norm2(self.conv2(out)))
        return self.act(self.norm3(self.conv3(out)) + self.downsample(x))


@register(MODELS)
class ACmixResNet(PyramidBackbone):
    """ResNet with ACmix in place of the bottlenecks' 3×3 convolutions.

    Args:
        depth: 26, 38 or 50.
        in_channels: Channels of the picture.
        base_channels: Channels after the stem; stage i ends in 4·2^i times as many.
        stages_with_acmix: For each stage, ACmix or a plain 3×3 convolution. Late stages
            alone cost little more than a ResNet and keep more of its weights.
        acmix: Further arguments of `ACmix`.
        out_indices, frozen_stages, norm_eval, init_cfg: See `PyramidBackbone`.
        with_cp: Activation checkpointing per block: less memory, one more forward.
        norm_cfg: Config of the norms.

    Shape:
        input (B, in_channels, H, W), any H, W ≥ 1; output: see `PyramidBackbone`.

    Raises:
        ValueError: If `depth` is unknown or `stages_with_acmix` has not four entries.

    Note:
        ResNet weights of torchvision and mmdet load through a pre-hook into all but the
        ACmix layers. No weights of an ACmix-ResNet were ever released.

    Source:
        ACmix, arXiv 2111.14556, Sec. 5. Numerically the release's ResNet.
    """

    release = RELEASE

    def __init__(
        self,
        depth: int = 50,
        in_channels: int = 3,
        base_channels: int = 64,
        stages_with_acmix: Sequence[bool] = (True, True, True, True),
        acmix: dict | None = None,
        out_indices: Sequence[int] = (0, 1, 2, 3),
        frozen_stages: int = -1,
        norm_eval: bool = False,
        with_cp: bool = False,
        norm_cfg: dict = dict(type='BN'),
        init_cfg: dict | list[dict] | None = None,
    ) -> None:
        row = find_arch(ACMIX_RESNET_ARCHS, depth)
        if len(stages_with_acmix) != NUM_STAGES:
            raise ValueError(
                f'stages_with_acmix must have {NUM_STAGES} entries, got '
                f'{tuple(stages_with_acmix)}'
            )
        norm_layer = partial(make_norm, norm_cfg)
        dims = [base_channels * 2**i for i in range(NUM_STAGES)]
        in_dim, stages = base_channels, []
        for i, dim in enumerate(dims):
            mix = partial(ACmix, **(acmix or {})) if stages_with_acmix[i] else nn.Conv2d
            blocks = []
            for j in range(row.depths[i]):
                stride = 2 if i and not j else 1
                blocks.append(Bottleneck(in_dim, dim, stride, mix, norm_layer))
                in_dim = EXPANSION * dim
            stages.append(Stage(nn.Identity(), blocks, with_cp))
        super().__init__(
            stem=_stem(in_channels, base_channels, norm_layer),
            stages=stages,
            stage_channels=[EXPANSION * dim for dim in dims],
            norms=[nn.Identity() for _ in dims],
            out_indices=out_indices,
            frozen_stages=frozen_stages,
            norm_eval=norm_eval,
            init_cfg=init_cfg,
        )


def _stem(in_channels: int, dim: int, norm_layer: Layer) -> nn.Sequential:
    """7×7 convolution of stride 2 → norm → ReLU → 3×3 max pooling of stride 2."""
    return nn.Sequential(
        OrderedDict(
            conv=nn.Conv2d(in_channels, dim, 7, stride=2, padding=3, bias=False),
            norm=norm_layer(dim),
            act=nn.ReLU(inplace=True),
            pool=nn.MaxPool2d(3, stride=2, padding=1),
        )
    )
