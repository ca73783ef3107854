"""ACmix: convolution and self-attention on shared 1×1 projections."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..ops.checks import check_divides, check_odd, check_positive, own_precision
from ..ops.shift import compose_kernel, grouped_shift, take_outside_
from ..registry import ACMIX_ATTENTIONS, MODELS, build_from, register
from .shift_and_sum import ShiftAndSum

# Time of a multiply-add of the grouped form over that of a plain convolution, float32
# on two CPU cores, both forms timed in turn: 128 channels prefer composing, 256 not.
_GROUPED_COST = 18
# What `reparameterize` leaves of the convolution path.
BUFFERS = 'kernel', 'taps', 'kernel_bias'


@register(MODELS)
class ACmix(nn.Module):
    """out = α · attention(q, k, v) + β · convolution(q, k, v), with q, k, v = W·x.

    The attention path is one of `ACMIX_ATTENTIONS`. The convolution path mixes the maps
    of each of the D positions, 3N with N heads, to k² maps (fc), shifts each by one
    tap's offset, and sums.

    The convolution path is linear in x. Unless x has very many channels it is computed
    as one k×k convolution whose kernel is composed from the parts at every call, with
    gradients to the parts: none of its maps exist.

    Also a convolution layer for mm's `conv_cfg=dict(type='ACmix')`.

    Args:
        in_channels, out_channels: Channels; heads divide the second.
        kernel_size: Side k of the convolution path's kernel, odd.
        stride: Of both paths.
        padding: None or dilation·(k // 2); no other gives both paths one size.
        dilation: Of both paths.
        groups: Only 1; here for mm's convolution builder.
        bias: Give the convolution path a bias of its own. The release has none; the
            projections always have theirs.
        num_heads: Heads N, of D = out_channels/N channels.
        attention: Config of the attention path.
        qk_channels: Channels of q and k, a multiple of D; `out_channels` by default.
        fc_bias: Give fc a bias; the release's Swin has one.
        shift: How the shifts are learned, see `ShiftAndSum`.
        alpha, beta: Start of the paths' weights; with `learn_scales=False` they stay,
            and a path with weight 0 is neither built nor computed.
        learn_scales: Whether α and β are learned.

    Shape:
        input (B, in_channels, H, W), any H, W ≥ 1;
        output (B, out_channels, ceil(H/stride), ceil(W/stride)).

    Raises:
        ValueError: If a size is even or < 1, heads do not divide the channels, padding
            or groups are others than above, or both paths are off.

    Note:
        Multiply-adds a pixel: 3·C_in·C (projections) + 3·k²·C + k⁴·C (fc, shift and
        sum; k²·C_in·C when composed) + the attention's.
        A convolution of the release sums channels in the order (D, N), its attention in
        (N, D); they are added as they are.

    Source:
        ACmix, arXiv 2111.14556, Sec. 4. Numerically the release's operator, but for odd
        sizes with stride 2, small maps and dilation, where the release fails.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int = 3,
        stride: int = 1,
        padding: int | None = None,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = False,
        num_heads: int = 4,
        attention: dict = dict(type='SlidingWindowAttention'),
        qk_channels: int | None = None,
        fc_bias: bool = False,
        shift: str = 'learned',
        alpha: float = 0.5,
        beta: float = 0.5,
        learn_scales: bool = True,
    ) -> None:
        super().__init__()
        check_odd('kernel_size', kernel_size)
        check_positive(in_channels=in_channels, stride=stride, dilation=dilation)
        check_divides(num_heads, out_channels)
        if padding not in (None, dilation * (kernel_size // 2)):
            raise ValueError(
                f'padding must be None or dilation·(kernel_size // 2) = '
                f'{dilation * (kernel_size // 2)}, got {padding}: both paths must have '
                'one output size'
            )
        if groups != 1:
            raise ValueError(f'groups must be 1, got {groups}; see num_heads')
        if not learn_scales and alpha == beta == 0:
            raise ValueError('alpha and beta are both fixed to 0: no path is left')
        dim, qk_channels = out_channels // num_heads, qk_channels or out_channels
        if qk_channels % dim:
            raise ValueError(
                f'qk_channels must be a multiple of out_channels/num_heads = {dim}, '
                f'got {qk_channels}'
            )
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.dilation = kernel_size, stride, dilation
        self.num_heads = num_heads
        self.has_attention = learn_scales or alpha != 0
        self.has_convolution = learn_scales or beta != 0

        self.q = nn.Conv2d(in_channels, qk_channels, 1)
        self.k = nn.Conv2d(in_channels, qk_channels, 1)
        self.v = nn.Conv2d(in_channels, out_channels, 1)
        # Maps of each position that q, k and v hold; 3N if all have the same channels.
        self.num_maps = (2 * qk_channels + out_channels) // dim
        if self.has_attention:
            self.attention = build_from(
                ACMIX_ATTENTIONS,
                attention,
                dim=out_channels,
                num_heads=num_heads,
                qk_dim=qk_channels,
                stride=stride,
                dilation=dilation,
            )
            self._add_scale('alpha', alpha, learn_scales)
        if self.has_convolution:
            self.fc = nn.Conv2d(self.num_maps, kernel_size**2, 1, bias=fc_bias)
            self.shift = ShiftAndSum(dim, num_heads, kernel_size, bias, shift)
            self._add_scale('beta', beta, learn_scales)

    def _add_scale(self, name: str, value: float, learn: bool) -> None:
        scale = torch.full((1,), float(value))
        if learn:
            self.register_parameter(name, nn.Parameter(scale))
        else:
            self.register_buffer(name, scale)

    def forward(self, x: Tensor) -> Tensor:
        source = self.attention.reduce(x) if self.reduces else x
        # The attention first: its maps are gone when the convolution's are made.
        if self.composes:
            attention = self.attend(x, source) if self.has_attention else None
            convolution = self.convolve(x, source) if self.has_convolution else None
        else:
            maps = self.project(x, source)
            attention = self.attend(x, source, maps) if self.has_attention else None
            convolution = self.shift_and_sum(x, maps)
        if attention is None or convolution is None:
            return convolution if attention is None else attention
        return convolution.add_(attention)

    @property
    def reduces(self) -> bool:
        """Whether k and v are projected from a smaller map than q."""
        return self.has_attention and self.attention.reduces

    @property
    def composes(self) -> bool:
        """Whether the convolution path is computed as one composed convolution.

        A grouped convolution's multiply-add costs many of a plain one's: composing
        wins until the input has very many channels.
        """
        if not hasattr(self, 'fc'):
            return True
        # fc works on every pixel, the convolutions on those that stride leaves.
        fc = self.stride**2 * self.num_maps / self.num_heads
        grouped = fc + self.kernel_size**2
        return self.in_channels < _GROUPED_COST * grouped

    def attend(
        self, x: Tensor, source: Tensor, maps: Sequence[Tensor] | None = None
    ) -> Tensor:
        """The attention path, times α.

        Args:
            x: The layer's input, from which q is projected.
            source: What k and v are projected from: x, or x reduced.
            maps: q, k and v where they exist.
        """
        if maps is None and self.attention.linear:
            # α · attention(q, k, v) = attention(q, k, α·v): α needs no map of its own.
            return self.attention(*self.project(x, source, scale_v=self.alpha))
        attention = self.attention(*(maps or self.project(x, source)))
        return self.alpha.to(attention.dtype) * attention

    def project(
        self, x: Tensor, source: Tensor, scale_v: Tensor | float = 1.0
    ) -> Sequence[Tensor]:
        """q, k and v, each (B, channels, H, W), by one 1×1 convolution.

        Args:
            x, source: See `attend`.
            scale_v: Factor of v where source is x.
        """
        if source is not x:
            return self.q(x), self.k(source), self.v(source)
        parts = (self.q, 1.0), (self.k, 1.0), (self.v, scale_v)
        weight = torch.cat([conv.weight * scale for conv, scale in parts])
        bias = torch.cat([conv.bias * scale for conv, scale in parts])
        sizes = [conv.out_channels for conv, _ in parts]
        return F.conv2d(x, weight, bias).split(sizes, dim=1)

    def shift_and_sum(self, x: Tensor, maps: Sequence[Tensor]) -> Tensor:
        """The convolution path from q, k and v, times β, as in the paper's figure."""
        if self.reduces:
            maps = maps[0], *(self.attention.expand(part, x) for part in maps[1:])
        joined = torch.cat(maps, 1).unflatten(1, (self.num_maps, -1))
        fc = self.fc.weight.flatten(1)
        taps = torch.einsum('mj,bjdhw->bdmhw', fc, joined)
        if self.fc.bias is not None:
            taps = taps + self.fc.bias[:, None, None]
        return grouped_shift(
            taps.flatten(1, 2),
            self.beta * self.shift.kernels(),
            None if self.shift.bias is None else self.beta * self.shift.bias,
            self.stride,
            self.dilation,
        )

    def convolve(self, x: Tensor, source: Tensor) -> Tensor:
        """The convolution path, times β."""
        if self.reduces:
            x = torch.cat((x, self.attention.expand(source, x)), 1)
        kernel, taps, bias = self.composed()
        geometry = self.stride, self.dilation * (self.kernel_size // 2), self.dilation
        out = F.conv2d(x, kernel, bias, *geometry)
        # Outside the map there are no biases to shift in: border pixels sum fewer taps.
        return take_outside_(out, taps, x.shape[2:], self.stride, self.dilation)

    def composed(self) -> tuple[Tensor, Tensor, Tensor]:
        """The convolution path as one convolution, β included.

        Returns:
            kernel (C, C_in, k, k), with twice C_in for [x, x reduced]; taps (C, k, k),
            what the biases of projections and fc add from each tap; bias (C,), the sum
            of all taps and the layer's own.
        """
        if not hasattr(self, 'fc'):
            return tuple(getattr(self, name) for name in BUFFERS)
        # Composed in the parameters' own precision, whatever autocast does to maps.
        with own_precision(self.beta):
            convs = (self.q, self.k, self.v)
            weights = [conv.weight.flatten(1) for conv in convs]
            if self.reduces:
                weights = [torch.block_diag(weights[0], torch.cat(weights[1:]))]
            weight = torch.cat(weights)
            bias = torch.cat([conv.bias for conv in convs])[:, None]
            fc, shift = self.fc.weight.flatten(1), self.beta * self.shift.kernels()
            kernel, taps = (
                compose_kernel(part.unflatten(0, (self.num_maps, -1)), fc, shift)
                for part in (weight, bias)
            )
            taps = taps[:, 0]
            if self.fc.bias is not None:
                taps = taps + torch.einsum('cmyx,m->cyx', shift, self.fc.bias)
            bias = taps.sum((1, 2))
            if self.shift.bias is not None:
                bias = bias + self.beta * self.shift.bias
            return kernel, taps, bias

    def reparameterize(self) -> 'ACmix':
        """Replace the convolution path's parts by their composed kernel, for inference.

        fc, shift and β become the buffers `kernel`, `taps` and `kernel_bias`; outputs
        stay the same.
        """
        if hasattr(self, 'fc'):
            composed = [x.detach() for x in self.composed()]
            del self.fc, self.shift, self.beta
            for name, value in zip(BUFFERS, composed, strict=True):
                self.register_buffer(name, value)
        return self

    def multiply_adds(self, height: int, width: int) -> dict[str, int]:
        """Of one H×W map, by the paper's stages, its parts as in its figure."""
        channels, out_height, out_width = (
            self.out_channels,
            *self._out_size(height, width),
        )
        pixels = height * width
        sources = self.attention.keys(height, width) if self.reduces else pixels
        projected = self.q.out_channels * pixels
        projected += (self.k.out_channels + self.v.out_channels) * sources
        counts = {'ACmix I, projections': self.in_channels * projected}
        if self.has_attention:
            counts['ACmix II, attention'] = self.attention.multiply_adds(height, width)
        if self.has_convolution:
            taps, positions = self.kernel_size**2, channels // self.num_heads
            fc = self.num_maps * taps * positions * pixels
            shift = taps * taps * channels * out_height * out_width
            counts['ACmix II, convolution'] = fc + shift
        return counts

    def _out_size(self, height: int, width: int) -> tuple[int, int]:
        return -(-height // self.stride), -(-width // self.stride)

    def extra_repr(self) -> str:
        return (
            f'{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, '
            f'num_heads={self.num_heads}, stride={self.stride}, '
            f'dilation={self.dilation}'
        )
