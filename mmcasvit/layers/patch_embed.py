"""Cutting a map into patches."""

from collections import OrderedDict

from torch import Tensor, nn

from .norm import LayerNorm2d
from .padding import pad_to_multiple


class PatchEmbed(nn.Sequential):
    """Convolution of P×P in steps of P → norm.

    Args:
        in_dim, dim: Channels of input and output.
        patch_size: P. A side that is no multiple is padded with zeros.

    Shape:
        input (B, in_dim, H, W), output (B, dim, ⌈H/P⌉, ⌈W/P⌉).

    Source:
        Swin Transformer, arXiv 2103.14030; PVT, arXiv 2102.12122, Fig. 3.
    """

    def __init__(self, in_dim: int, dim: int, patch_size: int) -> None:
        proj = nn.Conv2d(in_dim, dim, patch_size, stride=patch_size)
        super().__init__(OrderedDict(proj=proj, norm=LayerNorm2d(dim)))
        self.patch_size = patch_size

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(pad_to_multiple(x, self.patch_size))
