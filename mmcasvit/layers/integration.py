"""Local integration: the convolutions in front of CAS-ViT's token mixer."""

from collections.abc import Callable

from torch import nn


class ReleaseIntegration(nn.Sequential):
    """1×1 conv → norm → 3×3 depthwise conv → activation → 1×1 conv.

    Args:
        dim: Channels C of input and output.
        norm_layer: Makes a norm from a channel count.
        act_layer: Makes the activation.

    Shape:
        input and output (B, C, H, W).

    Source:
        The form of CAS-ViT's released weights; the paper's text differs, see
        `PaperIntegration`.
    """

    def __init__(
        self,
        dim: int,
        norm_layer: Callable[[int], nn.Module],
        act_layer: Callable[[], nn.Module],
    ) -> None:
        super().__init__()
        self.pw1 = nn.Conv2d(dim, dim, 1)
        self.norm = norm_layer(dim)
        self.dw = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)
        self.act = act_layer()
        self.pw2 = nn.Conv2d(dim, dim, 1)


class PaperIntegration(nn.Sequential):
    """Three times 3×3 depthwise conv → ReLU.

    Args:
        dim: Channels C of input and output.
        norm_layer: Not used; the paper names no norm here.
        act_layer: Not used; the paper names ReLU.

    Shape:
        input and output (B, C, H, W).

    Source:
        CAS-ViT, arXiv 2408.03703, Sec. 3.3. No weights of this form were released.
    """

    def __init__(
        self,
        dim: int,
        norm_layer: Callable[[int], nn.Module],
        act_layer: Callable[[], nn.Module],
    ) -> None:
        convs = (nn.Conv2d(dim, dim, 3, padding=1, groups=dim) for _ in range(3))
        super().__init__(*(nn.Sequential(conv, nn.ReLU()) for conv in convs))


INTEGRATIONS = {'release': ReleaseIntegration, 'paper': PaperIntegration}
