"""MobileViTv2's separable self-attention."""

from collections.abc import Callable

from torch import Tensor, nn

from ...registry import TOKEN_MIXERS, register


@register(TOKEN_MIXERS)
class SeparableSelfAttention(nn.Module):
    """out = W_o(ReLU(V(x)) · c), c = Σ_i softmax_i(s(x)) K(x)_i: one context for all.

    Args:
        dim: Channels C of input and output.
        norm_layer: Not used; the mixer has no norm of its own.

    Shape:
        input and output (B, C, H, W), any H, W ≥ 1.

    Note:
        (3·C² + 2·C)·H·W multiply-adds: linear in the number of pixels.

    Source:
        Separable Self-attention for Mobile Vision Transformers, arXiv 2206.02680,
        Sec. 3.2, over all tokens; CAS-ViT, arXiv 2408.03703, Fig. 3 b.
    """

    def __init__(
        self, dim: int, norm_layer: Callable[[int], nn.Module] | None = None
    ) -> None:
        super().__init__()
        self.score = nn.Conv2d(dim, 1, 1)
        self.key = nn.Conv2d(dim, dim, 1)
        self.value = nn.Conv2d(dim, dim, 1)
        self.proj = nn.Conv2d(dim, dim, 1)

    def forward(self, x: Tensor) -> Tensor:
        score = self.score(x)
        weight = score.flatten(2).softmax(-1).view_as(score)  # (B, 1, H, W)
        context = (weight * self.key(x)).sum((2, 3), keepdim=True)  # (B, C, 1, 1)
        return self.proj(self.value(x).relu() * context)
