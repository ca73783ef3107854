"""Pyramid Vision Transformer whose spatial-reduction attention is ACmix's."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..checkpoints.acmix_pvt import RELEASE
from ..layers import ACmixBlock, PatchEmbed
from ..registry import MODELS, register
from .archs import ACMIX_PVT_ARCHS, find_arch
from .pyramid import STEM_STRIDE, PyramidBackbone, Stage, drop_path_rates

REDUCTIONS = (8, 4, 2, 1)
PICTURE = 224


class PositionEmbedding(nn.Module):
    """x + p, p learned for each place of a map of `side`² and resized to others.

    Shape:
        input and output (B, dim, H, W).
    """

    def __init__(self, dim: int, side: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1, dim, side, side))
        nn.init.trunc_normal_(self.weight, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        position = self.weight
        if position.shape[2:] != x.shape[2:]:
            size = x.shape[2:]
            position = F.interpolate(position, size, mode='bilinear')
        return x + position


@register(MODELS)
class ACmixPVT(PyramidBackbone):
    """Pyramid Vision Transformer (v1) with ACmix in place of its attention.

    Args:
        arch: 't' or 's'.
        in_channels: Channels of the picture.
        drop_path_rate: Rate of the last block; block i of n has rate·i/(n−1).
        acmix: Further arguments of `ACmix`.
        out_indices, frozen_stages, init_cfg: See `PyramidBackbone`.
        with_cp: Activation checkpointing per block: less memory, one more forward.

    Shape:
        input (B, in_channels, H, W), any H, W ≥ 1; output: see `PyramidBackbone`.

    Raises:
        ValueError: If `arch` is unknown.

    Note:
        No code and no weights of an ACmix-PVT were ever released. A plain PVT's state
        dict loads through a pre-hook into all but the convolution paths.

    Source:
        ACmix, arXiv 2111.14556, Sec. 5, on the body of PVT, arXiv 2102.12122.
    """

    release = RELEASE

    def __init__(
        self,
        arch: str = 't',
        in_channels: int = 3,
        drop_path_rate: float = 0.1,
        acmix: dict | None = None,
        out_indices: Sequence[int] = (0, 1, 2, 3),
        frozen_stages: int = -1,
        with_cp: bool = False,
        init_cfg: dict | list[dict] | None = None,
    ) -> None:
        row = find_arch(ACMIX_PVT_ARCHS, arch)
        stages = []
        for i, rates in enumerate(drop_path_rates(drop_path_rate, row.depths)):
            dim = row.embed_dims[i]
            embed = nn.Identity()
            if i:
                embed = PatchEmbed(row.embed_dims[i - 1], dim, 2)
            position = PositionEmbedding(dim, PICTURE // (STEM_STRIDE * 2**i))
            attention = dict(type='SpatialReductionAttention', reduction=REDUCTIONS[i])
            own = dict(num_heads=row.num_heads[i], attention=attention)
            blocks = [
                ACmixBlock(dim, row.mlp_ratios[i], rate, dict(**own, **(acmix or {})))
                for rate in rates
            ]
            stages.append(Stage(nn.Sequential(embed, position), blocks, with_cp))
        super().__init__(
            stem=PatchEmbed(in_channels, row.embed_dims[0], STEM_STRIDE),
            stages=stages,
            stage_channels=row.embed_dims,
            norms=[nn.Identity() for _ in row.embed_dims],
            out_indices=out_indices,
            frozen_stages=frozen_stages,
            init_cfg=init_cfg,
        )
