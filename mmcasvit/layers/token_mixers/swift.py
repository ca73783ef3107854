"""SwiftFormer's efficient additive attention."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...registry import TOKEN_MIXERS, register


@register(TOKEN_MIXERS)
class SwiftAttention(nn.Module):
    """out = W_o(W(g ⊙ k̂) + q̂), g = Σ_i a_i q̂_i, a = normalised(q̂ · w_a / √C).

    q̂ and k̂ are queries and keys of length one; a is a vector of length one over all
    tokens; g is one global query.

    Args:
        dim: Channels C of input and output.
        norm_layer: Not used; the mixer has no norm of its own.

    Shape:
        input and output (B, C, H, W), any H, W ≥ 1.

    Note:
        (4·C² + 3·C)·H·W multiply-adds: linear in the number of pixels.

    Source:
        SwiftFormer, arXiv 2303.15446, Sec. 3.2; CAS-ViT, arXiv 2408.03703, Fig. 3 c.
    """

    def __init__(
        self, dim: int, norm_layer: Callable[[int], nn.Module] | None = None
    ) -> None:
        super().__init__()
        self.query = nn.Conv2d(dim, dim, 1)
        self.key = nn.Conv2d(dim, dim, 1)
        self.score = nn.Parameter(torch.randn(dim, 1, 1))
        self.mix = nn.Conv2d(dim, dim, 1)
        self.proj = nn.Conv2d(dim, dim, 1)

    def forward(self, x: Tensor) -> Tensor:
        q, k = F.normalize(self.query(x)), F.normalize(self.key(x))
        score = (q * self.score).sum(1, keepdim=True) * x.shape[1] ** -0.5
        weight = F.normalize(score.flatten(2), dim=-1).view_as(score)  # (B, 1, H, W)
        global_query = (weight * q).sum((2, 3), keepdim=True)  # (B, C, 1, 1)
        return self.proj(self.mix(global_query * k) + q)
