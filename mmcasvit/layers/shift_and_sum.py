"""The learned shifts of ACmix's convolution path."""

import torch
from torch import Tensor, nn

from ..ops.shift import grouped_shift_weight


class ShiftAndSum(nn.Module):
    """The kernels that shift k² maps of each position and sum them.

    Bare parameters, so that no initialisation of convolutions around it, by any
    model's `init_weights`, overwrites the shifts they start as.

    Args:
        dim: Positions D.
        num_heads: Convolutions N of each position.
        kernel_size: k.
        bias: Add a bias per output channel; the release has none.
        form: 'learned': N kernels of each position, that start as shifts; 'shared': one
            for all N; 'fixed': shifts for good; 'random': 'learned' from a
            convolution's usual start.

    Raises:
        ValueError: If `form` is none of these.
    """

    FORMS = ('learned', 'shared', 'fixed', 'random')

    def __init__(
        self, dim: int, num_heads: int, kernel_size: int, bias: bool, form: str
    ) -> None:
        super().__init__()
        if form not in self.FORMS:
            raise ValueError(f'shift must be one of {self.FORMS}, got {form!r}')
        self.copies = num_heads if form in ('shared', 'fixed') else 1
        weight = grouped_shift_weight(dim, kernel_size, num_heads // self.copies)
        if form == 'random':
            nn.init.kaiming_uniform_(weight, a=5**0.5)
        if form == 'fixed':
            self.register_buffer('weight', weight)
        else:
            self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(dim * num_heads)) if bias else None

    def kernels(self) -> Tensor:
        """All kernels, (D·N, k², k, k)."""
        return self.weight.repeat_interleave(self.copies, 0)
