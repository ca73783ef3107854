"""Multi-head self-attention as a token mixer."""

from collections.abc import Callable

from torch import Tensor, nn

from ...ops import global_attention
from ...ops.checks import check_divides
from ...registry import TOKEN_MIXERS, register


@register(TOKEN_MIXERS)
class MultiHeadSelfAttention(nn.Module):
    """out = proj(softmax(q·kᵀ / √D) v): every token looks at every other.

    Args:
        dim: Channels C of input and output.
        num_heads: Heads N, of D = C/N channels.
        norm_layer: Not used; the mixer has no norm of its own.

    Shape:
        input and output (B, C, H, W), any H, W ≥ 1.

    Raises:
        ValueError: If heads do not divide the channels.

    Note:
        4·C²·H·W + 2·C·(H·W)² multiply-adds: quadratic in the number of pixels. The
        weights are never stored as a whole.

    Source:
        Attention Is All You Need, arXiv 1706.03762; CAS-ViT, arXiv 2408.03703,
        Fig. 3 a.
    """

    def __init__(
        self,
        dim: int,
        num_heads: int = 4,
        norm_layer: Callable[[int], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        check_divides(num_heads, dim)
        self.num_heads = num_heads
        self.qkv = nn.Conv2d(dim, 3 * dim, 1)
        self.proj = nn.Conv2d(dim, dim, 1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=1)
        return self.proj(global_attention(q, k, v, self.num_heads))
