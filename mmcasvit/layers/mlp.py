"""Feed-forward part of a block."""

from collections.abc import Callable

from torch import Tensor, nn


class ConvMlp(nn.Module):
    """Pointwise MLP on feature maps: out = W2 · act(W1 · x).

    Args:
        dim: Channels of input and output.
        hidden_dim: Channels between the two 1×1 convolutions.
        act_layer: Makes the activation.

    Shape:
        input and output (B, C, H, W).

    Source:
        CAS-ViT, arXiv 2408.03703, Fig. 2.
    """

    def __init__(
        self, dim: int, hidden_dim: int, act_layer: Callable[[], nn.Module] = nn.GELU
    ) -> None:
        super().__init__()
        self.fc1 = nn.Conv2d(dim, hidden_dim, 1)
        self.act = act_layer()
        self.fc2 = nn.Conv2d(hidden_dim, dim, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.act(self.fc1(x)))
