"""Normalisation over the channels of maps."""

from torch import Tensor, nn


class LayerNorm2d(nn.LayerNorm):
    """Layer norm of each pixel's channels: (B, C, H, W) → (B, C, H, W).

    Free of copies on maps that are channels last in memory.
    """

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
