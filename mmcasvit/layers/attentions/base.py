"""What ACmix asks of its attention path."""

from torch import Tensor, nn

from ...ops.checks import check_divides, check_positive


class AttentionPath(nn.Module):
    """out = attention(q, k, v), the half of ACmix that sees content.

    Args:
        dim: Channels C of v and of the output.
        num_heads: Heads N, of D = C/N channels.
        qk_dim: Channels of q and k; C unless the mode is `narrow`.
        stride, dilation: 1 unless the mode is `strided`.

    Attributes:
        strided: The mode knows stride and dilation.
        narrow: q and k may have other channels than v.
        reduces: k and v come from a smaller map.
        linear: The output is linear in v: a factor of v is a factor of the output.

    Shape:
        q, k (B, qk_dim, H, W), v (B, C, H, W), any H, W ≥ 1;
        output (B, C, ceil(H/stride), ceil(W/stride)).

    Raises:
        ValueError: If heads do not divide C, or the mode lacks what is asked.
    """

    strided = False
    narrow = False
    reduces = False
    linear = True

    def __init__(
        self,
        dim: int,
        num_heads: int,
        qk_dim: int | None = None,
        stride: int = 1,
        dilation: int = 1,
    ) -> None:
        super().__init__()
        check_positive(dim=dim, stride=stride, dilation=dilation)
        check_divides(num_heads, dim)
        name = type(self).__name__
        if not self.strided and (stride, dilation) != (1, 1):
            raise ValueError(
                f'{name} has no stride or dilation, got {stride} and {dilation}: '
                'SlidingWindowAttention has both'
            )
        self.dim, self.num_heads, self.qk_dim = dim, num_heads, qk_dim or dim
        if not self.narrow and self.qk_dim != dim:
            raise ValueError(
                f'{name} needs q and k of {dim} channels as v, got {qk_dim}; '
                'PatchwiseAttention takes fewer'
            )
        self.stride, self.dilation = stride, dilation

    def reduce(self, x: Tensor) -> Tensor:
        """The map that k and v are projected from; by default ACmix's own input."""
        return x

    def expand(self, x: Tensor, like: Tensor) -> Tensor:
        """A map of the size that `reduce` gives in the size of `like`, its input."""
        return x

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        raise NotImplementedError

    def multiply_adds(self, height: int, width: int) -> int:
        """Of one H×W map, without ACmix's projections of it."""
        raise NotImplementedError
