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
    tracked = [norm.track_running_stats for norm in norms]
    for norm in norms:
        norm.track_running_stats = False
    try:
        yield
    finally:
        for norm, was in zip(norms, tracked, strict=True):
            norm.track_running_stats = was


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
