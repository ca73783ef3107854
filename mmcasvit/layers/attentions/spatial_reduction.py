"""PVT's attention as ACmix's attention path."""

from torch import Tensor, nn
from torch.nn import functional as F

from ...ops import global_attention
from ...ops.checks import check_positive
from ...registry import ACMIX_ATTENTIONS, register
from ..norm import LayerNorm2d
from .base import AttentionPath


@register(ACMIX_ATTENTIONS)
class SpatialReductionAttention(AttentionPath):
    """out_i = Σ_j softmax_j(q_i · r(k)_j / √D) r(v)_j over the whole reduced map.

    r is a convolution of R×R in steps of R and a norm; without reduction, R = 1, it is
    nothing.

    Args:
        dim, num_heads, qk_dim, stride, dilation: See `AttentionPath`.
        reduction: R. A side that is no multiple of R is padded with zeros.

    Shape:
        See `AttentionPath`; any H, W ≥ 1.

    Note:
        2·(H·W)²/R²·C multiply-adds, and 2·C²·H·W for the reduction.

    Source:
        PVT, arXiv 2102.12122, Sec. 3.3; ACmix, arXiv 2111.14556, Sec. 4.4. PVT reduces
        x before the projections; here k and v are, by one convolution, as ACmix's other
        path has its projections in full resolution.
    """

    linear = False

    def __init__(
        self,
        dim: int,
        num_heads: int,
        qk_dim: int | None = None,
        stride: int = 1,
        dilation: int = 1,
        reduction: int = 1,
    ) -> None:
        super().__init__(dim, num_heads, qk_dim, stride, dilation)
        check_positive(reduction=reduction)
        self.reduction = reduction
        if reduction > 1:
            self.reduce = nn.Conv2d(dim, dim, reduction, stride=reduction)
            self.norm = LayerNorm2d(dim)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if self.reduction > 1:
            k, v = self._reduced(k), self._reduced(v)
        return global_attention(q, k, v, self.num_heads)

    def _reduced(self, x: Tensor) -> Tensor:
        below, right = (-side % self.reduction for side in x.shape[2:])
        return self.norm(self.reduce(F.pad(x, (0, right, 0, below))))
