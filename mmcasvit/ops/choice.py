"""Which implementation of an operator runs: on a GPU the fastest, found by trial."""

import warnings
from collections.abc import Callable, Hashable, Mapping

import torch
from torch import Tensor

_CHOSEN: dict[Hashable, str] = {}


def fastest(
    implementations: Mapping[str, Callable[..., Tensor]],
    maps: tuple[Tensor, ...],
    arguments: tuple[object, ...],
    key: Hashable,
) -> str:
    """Name the implementation that is fastest here.

    As PyTorch picks its convolutions: where `torch.backends.cudnn.benchmark` is set
    (MMEngine's `env_cfg.cudnn_benchmark`), the first call on a GPU runs each a few
    times, with its backward pass if gradients are wanted, and later calls of the same
    kind take the winner. Without that, on CPUs and in compiled graphs: the first.

    Args:
        implementations: Name → function of `*maps, *arguments`, all of one result.
        maps: Tensors of one device and dtype.
        arguments: What else they take.
        key: What else makes another trial, beside device, dtype and gradients.

    Note:
        One that fails in the trial is left out with a warning.
    """
    first = next(iter(implementations))
    trial = maps[0].is_cuda and torch.backends.cudnn.benchmark
    if not trial or torch.compiler.is_compiling():
        return first
    learns = torch.is_grad_enabled() and any(x.requires_grad for x in maps)
    key = (key, maps[0].device, maps[0].dtype, learns)
    if key not in _CHOSEN:
        times = trial_times(implementations, maps, arguments, learns)
        _CHOSEN[key] = min(times, key=times.__getitem__, default=first)
    return _CHOSEN[key]


def trial_times(
    implementations: Mapping[str, Callable[..., Tensor]],
    maps: tuple[Tensor, ...],
    arguments: tuple[object, ...],
    learns: bool,
) -> dict[str, float]:
    """Seconds of a call, with its backward pass if it `learns`; failures left out."""
    from torch.utils.benchmark import Timer  # slow to import

    maps = tuple(x.detach().requires_grad_(learns) for x in maps)

    def call(run: Callable[..., Tensor]) -> None:
        out = run(*maps, *arguments)
        if learns:
            torch.autograd.grad(out, maps, out.detach())

    times = {}
    for name, run in implementations.items():
        timer = Timer('call(run)', globals=dict(call=call, run=run))
        try:
            times[name] = timer.timeit(5).median
        except Exception as error:  # whatever a compiler or a library makes of it
            reason = f'{type(error).__name__}: {error}'.splitlines()[0]
            warnings.warn(f'{name} is left out of the choice: {reason}', stacklevel=2)
    return times
