"""Swin Transformer whose window attention is ACmix's attention path."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..checkpoints.acmix_swin import RELEASE
from ..layers import ACmixBlock, LayerNorm2d, PatchEmbed, pad_to_multiple
from ..ops import rolls
from ..registry import MODELS, register
from .archs import ACMIX_SWIN_ARCHS, find_arch
from .pyramid import STEM_STRIDE, PyramidBackbone, Stage, drop_path_rates


class Block(ACmixBlock):
    """`ACmixBlock` with windows that may be shifted.

    Where they are the map is rolled before, for both of ACmix's paths: the convolution
    then takes opposite borders for neighbours, as the release does.

    Args:
        dim: Channels C.
        num_heads: Heads N.
        window_size, shift: Of the windows.
        mlp_ratio, drop_path: See `ACmixBlock`.
        acmix: Further arguments of `ACmix`.

    Shape:
        input and output (B, C, H, W).
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: int,
        shift: int,
        mlp_ratio: float,
        drop_path: float,
        acmix: dict,
    ) -> None:
        attention = dict(type='WindowAttention', window_size=window_size, shift=shift)
        own = dict(num_heads=num_heads, attention=attention, fc_bias=True)
        super().__init__(dim, mlp_ratio, drop_path, dict(**own, **acmix))
        self.window_size, self.shift = window_size, shift

    def mix(self, x: Tensor) -> Tensor:
        dy, dx = rolls(x.shape[2:], self.window_size, self.shift)
        if not dy and not dx:
            return self.acmix(x)
        return self.acmix(x.roll((-dy, -dx), (2, 3))).roll((dy, dx), (2, 3))


class PatchMerging(nn.Module):
    """Four neighbours side by side → norm → linear.

    Shape:
        input (B, dim, H, W), output (B, 2·dim, ⌈H/2⌉, ⌈W/2⌉).
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4 * dim)
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = pad_to_multiple(x, 2).permute(0, 2, 3, 1)
        neighbours = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
        x = self.reduction(self.norm(torch.cat(neighbours, -1)))
        return x.permute(0, 3, 1, 2)


@register(MODELS)
class ACmixSwin(PyramidBackbone):
    """Swin Transformer with ACmix in place of its window attention.

    Args:
        arch: 't' or 's'.
        in_channels: Channels of the picture.
        window_size: Side of the attention's windows.
        drop_path_rate: Rate of the last block; block i of n has rate·i/(n−1).
        acmix: Further arguments of `ACmix`.
        out_indices, frozen_stages, init_cfg: See `PyramidBackbone`.
        with_cp: Activation checkpointing per block: less memory, one more forward.

    Shape:
        input (B, in_channels, H, W), any H, W ≥ 1; output: see `PyramidBackbone`.

    Raises:
        ValueError: If `arch` is unknown.

    Note:
        The release's state dicts load through a pre-hook, and a plain Swin's into all
        but the convolution paths.

    Source:
        ACmix, arXiv 2111.14556, Sec. 5. Numerically the release's Swin where sides of
        all maps are multiples of the window, with a norm per level as mm's Swin has.
    """

    release = RELEASE

    def __init__(
        self,
        arch: str = 't',
        in_channels: int = 3,
        window_size: int = 7,
        drop_path_rate: float = 0.2,
        acmix: dict | None = None,
        out_indices: Sequence[int] = (0, 1, 2, 3),
        frozen_stages: int = -1,
        with_cp: bool = False,
        init_cfg: dict | list[dict] | None = None,
    ) -> None:
        row = find_arch(ACMIX_SWIN_ARCHS, arch)
        stages = []
        for i, rates in enumerate(drop_path_rates(drop_path_rate, row.depths)):
            dim = row.embed_dims[i]
            blocks = [
                Block(
                    dim,
                    row.num_heads[i],
                    window_size,
                    shift=window_size // 2 if j % 2 else 0,
                    mlp_ratio=row.mlp_ratios[i],
                    drop_path=rate,
                    acmix=acmix or {},
                )
                for j, rate in enumerate(rates)
            ]
            downsample = PatchMerging(row.embed_dims[i - 1]) if i else nn.Identity()
            stages.append(Stage(downsample, blocks, with_cp))
        super().__init__(
            stem=PatchEmbed(in_channels, row.embed_dims[0], STEM_STRIDE),
            stages=stages,
            stage_channels=row.embed_dims,
            norms=[LayerNorm2d(dim) for dim in row.embed_dims],
            out_indices=out_indices,
            frozen_stages=frozen_stages,
            init_cfg=init_cfg,
        )
