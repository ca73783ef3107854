"""Self-Attention Network whose patchwise attention is ACmix's."""

from collections.abc import Sequence
from functools import partial

from torch import Tensor, nn

from ..checkpoints.acmix_san import RELEASE
from ..layers import ACmix
from ..registry import MODELS, register
from .archs import ACMIX_SAN_ARCHS, find_arch
from .pyramid import Layer, PyramidBackbone, Stage, make_norm

DIMS = (64, 256, 512, 1024, 2048)
KERNEL_SIZES = (3, 7, 7, 7, 7)
SHARE = 8


class Bottleneck(nn.Module):
    """x ← x + 1×1(act(norm2(acmix(act(norm1(x)))))).

    q and k have C/16 channels, v has C/4.

    Args:
        dim: Channels C of input and output.
        kernel_size: Side of the attention's window.
        norm_layer: Makes a norm from a channel count.
        acmix: Further arguments of `ACmix`.

    Shape:
        input and output (B, C, H, W).

    Source:
        SAN, arXiv 2004.13621, Fig. 2; ACmix, arXiv 2111.14556, Sec. 4.4.
    """

    def __init__(
        self, dim: int, kernel_size: int, norm_layer: Layer, acmix: dict
    ) -> None:
        super().__init__()
        middle, narrow = dim // 4, dim // 16
        self.norm1 = norm_layer(dim)
        self.acmix = ACmix(
            dim,
            middle,
            num_heads=middle // narrow,
            attention=dict(
                type='PatchwiseAttention',
                kernel_size=kernel_size,
                share=SHARE,
            ),
            qk_channels=narrow,
            **acmix,
        )
        self.norm2 = norm_layer(middle)
        self.conv = nn.Conv2d(middle, dim, 1)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        out = self.acmix(self.act(self.norm1(x)))
        return x + self.conv(self.act(self.norm2(out)))


class Transition(nn.Sequential):
    """2×2 max pooling of stride 2 → 1×1 convolution; an odd side rounds up."""

    def __init__(self, in_dim: int, dim: int) -> None:
        super().__init__(nn.MaxPool2d(2, ceil_mode=True), nn.Conv2d(in_dim, dim, 1))


@register(MODELS)
class ACmixSAN(PyramidBackbone):
    """Self-Attention Network with ACmix in place of its patchwise attention.

    Args:
        depth: 10, 15 or 19.
        in_channels: Channels of the picture.
        dims: Channels at strides 2, 4, 8, 16 and 32.
        acmix: Further arguments of `ACmix`.
        out_indices, frozen_stages, norm_eval, init_cfg: See `PyramidBackbone`.
        with_cp: Activation checkpointing per block: less memory, one more forward.
        norm_cfg: Config of the norms outside of the attention.

    Shape:
        input (B, in_channels, H, W), any H, W ≥ 1; output: see `PyramidBackbone`.

    Raises:
        ValueError: If `depth` is unknown.

    Note:
        No code and no weights of an ACmix-SAN were ever released.

    Source:
        ACmix, arXiv 2111.14556, Sec. 5, on the body of SAN, arXiv 2004.13621, Table 1.
    """

    release = RELEASE

    def __init__(
        self,
        depth: int = 10,
        in_channels: int = 3,
        dims: Sequence[int] = DIMS,
        acmix: dict | None = None,
        out_indices: Sequence[int] = (0, 1, 2, 3),
        frozen_stages: int = -1,
        norm_eval: bool = False,
        with_cp: bool = False,
        norm_cfg: dict = dict(type='BN'),
        init_cfg: dict | list[dict] | None = None,
    ) -> None:
        row = find_arch(ACMIX_SAN_ARCHS, depth)
        norm_layer = partial(make_norm, norm_cfg)

        def level(i: int) -> list[nn.Module]:
            blocks = [
                Bottleneck(dims[i], KERNEL_SIZES[i], norm_layer, acmix or {})
                for _ in range(row.depths[i])
            ]
            return [*blocks, nn.Sequential(norm_layer(dims[i]), nn.ReLU(inplace=True))]

        stem = nn.Sequential(
            nn.Conv2d(in_channels, dims[0], 1),
            norm_layer(dims[0]),
            nn.ReLU(inplace=True),
            Transition(dims[0], dims[0]),
            *level(0),
            Transition(dims[0], dims[1]),
        )
        stages = [
            Stage(
                Transition(dims[i - 1], dims[i]) if i > 1 else nn.Identity(),
                level(i),
                with_cp,
            )
            for i in range(1, len(dims))
        ]
        super().__init__(
            stem=stem,
            stages=stages,
            stage_channels=dims[1:],
            norms=[nn.Identity() for _ in dims[1:]],
            out_indices=out_indices,
            frozen_stages=frozen_stages,
            norm_eval=norm_eval,
            init_cfg=init_cfg,
        )
