"""A transformer's block with ACmix for its attention."""

from torch import Tensor, nn

from .acmix import ACmix
from .drop_path import DropPath
from .mlp import ConvMlp
from .norm import LayerNorm2d


class ACmixBlock(nn.Module):
    """x ← x + acmix(norm1(x)); x ← x + mlp(norm2(x)).

    Args:
        dim: Channels C.
        mlp_ratio: Hidden width of the MLP over C.
        drop_path: Rate of stochastic depth.
        acmix: Arguments of `ACmix`.

    Shape:
        input and output (B, C, H, W).

    Source:
        Swin Transformer, arXiv 2103.14030, Fig. 3 b; PVT, arXiv 2102.12122, Fig. 3;
        ACmix, arXiv 2111.14556, Sec. 4.4.
    """

    def __init__(
        self, dim: int, mlp_ratio: float, drop_path: float, acmix: dict
    ) -> None:
        super().__init__()
        self.norm1 = LayerNorm2d(dim)
        self.acmix = ACmix(dim, dim, **acmix)
        self.norm2 = LayerNorm2d(dim)
        self.mlp = ConvMlp(dim, int(dim * mlp_ratio))
        self.drop_path = DropPath(drop_path)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop_path(self.mix(self.norm1(x)))
        return x + self.drop_path(self.mlp(self.norm2(x)))

    def mix(self, x: Tensor) -> Tensor:
        """The token mixing: ACmix."""
        return self.acmix(x)
