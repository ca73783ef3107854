"""Activation checkpointing that leaves BatchNorm's running statistics right."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint


@contextmanager
def _without_running_stats(module: nn.Module) -> Iterator[None]:
    """Keep batch norms that are training from updating their running statistics."""
    norms = [m for m in module.modules() if isinstance(m, _BatchNorm) and m.training]
    before = [(norm.momentum, norm.num_batches_tracked) for norm in norms]
    for norm in norms:
        norm.momentum, norm.num_batches_tracked = 0.0, None
    try:
        yield
    finally:
        for norm, (momentum, count) in zip(norms, before, strict=True):
            norm.momentum, norm.num_batches_tracked = momentum, count


def checkpointed(module: nn.Module, x: Tensor) -> Tensor:
    """module(x), whose activations are computed again in the backward pass.

    The second forward draws the same random numbers and leaves running statistics
    alone, so that losses, gradients and buffers equal those of a plain call.

    Args:
        module: Takes and gives one tensor.
        x: Its input; without a gradient to pass on the call is a plain one.
    """
    if not x.requires_grad:
        return module(x)
    return checkpoint(
        module,
        x,
        use_reentrant=False,
        context_fn=lambda: (nullcontext(), _without_running_stats(module)),
    )
