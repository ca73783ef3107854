"""CAS-ViT's convolutional additive token mixer (CATM)."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ...registry import TOKEN_MIXERS, register


class SpatialGate(nn.Module):
    """out = x · σ(w · ReLU(norm(DW(x)))): one weight per pixel.

    Args:
        dim: Channels C.
        norm_layer: Makes a norm from a channel count.

    Shape:
        input and output (B, C, H, W).

    Source:
        CAS-ViT, arXiv 2408.03703, Eq. 5.
    """

    def __init__(self, dim: int, norm_layer: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.dw = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)
        self.norm = norm_layer(dim)
        self.act = nn.ReLU()
        self.score = nn.Conv2d(dim, 1, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate = self.score(self.act(self.norm(self.dw(x))))  # (B, 1, H, W)
        return x * gate.sigmoid()


class ChannelGate(nn.Module):
    """out = x · σ(W · mean_HW(x)): one weight per channel.

    Args:
        dim: Channels C.

    Shape:
        input and output (B, C, H, W).

    Source:
        CAS-ViT, arXiv 2408.03703, Eq. 6.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.score = nn.Conv2d(dim, dim, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate = self.score(x.mean((2, 3), keepdim=True))  # (B, C, 1, 1)
        return x * gate.sigmoid()


class ContextMap(nn.Module):
    """Φ(x): the spatial gate, then the channel gate.

    Args:
        dim: Channels C.
        norm_layer: Makes a norm from a channel count.

    Shape:
        input and output (B, C, H, W).
    """

    def __init__(self, dim: int, norm_layer: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.spatial = SpatialGate(dim, norm_layer)
        self.channel = ChannelGate(dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.channel(self.spatial(x))


@register(TOKEN_MIXERS)
class AdditiveTokenMixer(nn.Module):
    """Convolutional additive token mixer: out = proj(ctx(Φ(q) + Φ(k)) ⊙ v).

    Args:
        dim: Channels C of input and output.
        norm_layer: Makes the gates' norms from a channel count.

    Shape:
        input and output (B, C, H, W), any H, W ≥ 1.

    Note:
        3·C²·H·W + O(C·H·W + C²) multiply-adds: linear in the number of pixels.

    Source:
        CAS-ViT, arXiv 2408.03703, Sec. 3.2. Numerically the release's mixer.
    """

    def __init__(
        self, dim: int, norm_layer: Callable[[int], nn.Module] = nn.BatchNorm2d
    ) -> None:
        super().__init__()
        self.qkv = nn.Conv2d(dim, 3 * dim, 1, bias=False)
        self.phi_q = ContextMap(dim, norm_layer)
        self.phi_k = ContextMap(dim, norm_layer)
        self.ctx = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)
        self.proj = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = torch.chunk(self.qkv(x), 3, dim=1)
        return self.proj(self.ctx(self.phi_q(q) + self.phi_k(k)) * v)
