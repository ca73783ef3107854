"""PVT's attention as ACmix's attention path."""

from torch import Tensor, nn
from torch.nn import functional as F

from ...ops import global_attention
from ...ops.checks import check_positive
from ...registry import ACMIX_ATTENTIONS, register
from ..norm import LayerNorm2d
from ..padding import pad_to_multiple
from .base import AttentionPath


@register(ACMIX_ATTENTIONS)
class SpatialReductionAttention(AttentionPath):
    """out_i = proj(Σ_j softmax_j(q_i · k_j / √D) v_j), k and v of the reduced input.

    The input is reduced by a convolution of R×R in steps of R and a norm, and then goes
    through ACmix's projections; with R = 1 it is taken as it is. ACmix's other path
    gets k and v enlarged to the input's size.

    Args:
        dim, num_heads, qk_dim, stride, dilation: See `AttentionPath`.
        reduction: R. A side that is no multiple of R is padded with zeros.

    Shape:
        q (B, C, H, W), k and v (B, C, ⌈H/R⌉, ⌈W/R⌉), any H, W ≥ 1; output (B, C, H, W).

    Note:
        2·(H·W)²/R²·C multiply-adds, C²·H·W for the reduction and C²·H·W for proj.

    Source:
        PVT, arXiv 2102.12122, Sec. 3.3; ACmix, arXiv 2111.14556, Sec. 4.4.
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
        self.reduction, self.reduces = reduction, reduction > 1
        if self.reduces:
            self.shrink = nn.Conv2d(dim, dim, reduction, stride=reduction)
            self.norm = LayerNorm2d(dim)
        self.proj = nn.Conv2d(dim, dim, 1)

    def reduce(self, x: Tensor) -> Tensor:
        if not self.reduces:
            return x
        return self.norm(self.shrink(pad_to_multiple(x, self.reduction)))

    def expand(self, x: Tensor, like: Tensor) -> Tensor:
        height, width = like.shape[2:]
        large = F.interpolate(x, scale_factor=self.reduction, mode='bilinear')
        return large[:, :, :height, :width]

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return self.proj(global_attention(q, k, v, self.num_heads))

    def multiply_adds(self, height: int, width: int) -> int:
        keys = self.keys(height, width)
        pixels, dim = height * width, self.dim
        reduction = self.reduction**2 * dim**2 * keys if self.reduces else 0
        return 2 * pixels * keys * dim + dim**2 * pixels + reduction

    def keys(self, height: int, width: int) -> int:
        """Keys of an H×W map."""
        return -(-height // self.reduction) * -(-width // self.reduction)
