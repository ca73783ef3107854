"""ACmix's own attention: a window that slides with the pixel."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...ops import local_attention
from ...ops.checks import check_odd
from ...registry import ACMIX_ATTENTIONS, register
from .base import AttentionPath


@register(ACMIX_ATTENTIONS)
class SlidingWindowAttention(AttentionPath):
    """out_i = Σ_{j ∈ W(i)} softmax_j(q_i · (k_j + p_i − p_j) / √D) v_j.

    The position encoding p is a 1×1 convolution of the pixels' places in [−1, 1]²,
    shared by heads. Softmax cancels q_i · p_i, which does not depend on the neighbour
    j: keys less their position, k_j − p_j, give the same weights.

    Args:
        dim, num_heads, qk_dim, stride, dilation: See `AttentionPath`.
        kernel_size: Side of the window, odd.

    Shape:
        See `AttentionPath`; any H, W ≥ 1.

    Raises:
        ValueError: If `kernel_size` is even.

    Note:
        2·kernel_size²·C multiply-adds a pixel.

    Source:
        ACmix, arXiv 2111.14556, Eq. 6; on ResNet, Sec. 5.
    """

    strided = True

    def __init__(
        self,
        dim: int,
        num_heads: int,
        qk_dim: int | None = None,
        stride: int = 1,
        dilation: int = 1,
        kernel_size: int = 7,
    ) -> None:
        super().__init__(dim, num_heads, qk_dim, stride, dilation)
        check_odd('kernel_size of the attention', kernel_size)
        self.kernel_size = kernel_size
        self.position = nn.Conv2d(2, dim // num_heads, 1)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k = k.unflatten(1, (self.num_heads, -1)) - self._position(k)
        return local_attention(
            q,
            k.flatten(1, 2),
            v,
            self.num_heads,
            self.kernel_size,
            self.stride,
            self.dilation,
        )

    def multiply_adds(self, height: int, width: int) -> int:
        pixels = -(-height // self.stride) * -(-width // self.stride)
        return 2 * self.kernel_size**2 * self.dim * pixels

    def _position(self, like: Tensor) -> Tensor:
        """Encoding p of the pixels' places, (D, H, W), channels last."""
        y, x = (torch.linspace(-1, 1, n, device=like.device) for n in like.shape[2:])
        grid = torch.stack(torch.meshgrid(x, y, indexing='xy'), -1)  # (H, W, 2)
        weight, bias = self.position.weight.flatten(1), self.position.bias
        return F.linear(grid.to(weight), weight, bias).permute(2, 0, 1).to(like)
