"""Time and memory of several implementations, measured in turn in one process.

Machines drift: only ratios of medians of runs that alternate mean something.
"""

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

MIB = 2**20


@dataclass(frozen=True)
class Subject:
    """Something to measure.

    Args:
        name: How it is called in the table.
        run: One forward pass; gives a tensor or a tuple of tensors.
        inputs: What a training step computes gradients for.
        module: What runs, if it is a module.
    """

    name: str
    run: Callable[[], Tensor | Sequence[Tensor]]
    inputs: Sequence[Tensor]
    module: nn.Module | None = None

    @classmethod
    def of(cls, name: str, module: nn.Module, x: Tensor) -> 'Subject':
        """A module applied to x; a training step reaches its parameters and x."""
        x = x.detach().requires_grad_()
        return cls(name, lambda: module(x), [x, *module.parameters()], module)


@dataclass
class Measurement:
    """What one subject cost.

    Args:
        name: The subject's.
        seconds: Time of every run.
        median: Of `seconds`.
        ratio: `median` over the first subject's.
        memory: Peak bytes allocated beyond what stood before the run.
        memory_ratio: `memory` over the first subject's.
        params, multiply_adds: Of a module, see `complexity.add_costs`.
    """

    name: str
    seconds: list[float] = field(default_factory=list)
    median: float = 0.0
    ratio: float = 1.0
    memory: int = 0
    memory_ratio: float = 1.0
    params: int | None = None
    multiply_adds: int | None = None


def measure(
    subjects: Sequence[Subject],
    train: bool,
    runs: int,
    warmup: int = 1,
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> list[Measurement]:
    """Measure subjects in turn: A B C, A B C, …

    Args:
        subjects: The first is what ratios refer to.
        train: Forward and backward pass; else the forward pass without gradients.
        runs: Timed runs of each subject.
        warmup: Runs of each subject before.
        progress: Wraps the numbers of the runs, to show them pass.

    Raises:
        ValueError: If there is no subject or no run.
    """
    if not subjects or runs < 1:
        raise ValueError(f'nothing to measure: {len(subjects)} subjects, {runs} runs')
    results = [Measurement(subject.name) for subject in subjects]
    for number in progress(range(warmup + runs)):
        for subject, result in zip(subjects, results, strict=True):
            seconds = _timed(subject, train)
            if number >= warmup:
                result.seconds.append(seconds)
    for subject, result in zip(subjects, results, strict=True):
        result.median = statistics.median(result.seconds)
        result.memory = peak_memory(subject, train)
        result.ratio = result.median / results[0].median
        result.memory_ratio = result.memory / max(results[0].memory, 1)
    return results


def _step(subject: Subject, train: bool) -> None:
    with torch.set_grad_enabled(train):
        out = subject.run()
    if train:
        maps = [out] if isinstance(out, Tensor) else out
        torch.autograd.grad(
            maps, subject.inputs, [torch.ones_like(m) for m in maps], allow_unused=True
        )


def _timed(subject: Subject, train: bool) -> float:
    on_cuda = any(x.is_cuda for x in subject.inputs)
    if on_cuda:
        torch.cuda.synchronize()
    start = time.perf_counter()
    _step(subject, train)
    if on_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def peak_memory(subject: Subject, train: bool) -> int:
    """Peak bytes that PyTorch allocates during one run, beyond what it held before."""
    if any(x.is_cuda for x in subject.inputs):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        _step(subject, train)
        return torch.cuda.max_memory_allocated() - before
    os.environ.setdefault('KINETO_LOG_LEVEL', '99')  # it tells of GPUs it can't find
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        _step(subject, train)
    events = profiler.profiler.kineto_results.events()
    changes = sorted(
        (event.start_ns(), event.nbytes())
        for event in events
        if event.name() == '[memory]'
    )
    held = peak = 0
    for _, change in changes:
        held += change
        peak = max(peak, held)
    return peak


def environment(device: torch.device) -> dict[str, Any]:
    """What the figures belong to: machine, device, threads, PyTorch."""
    name = torch.cuda.get_device_name(device) if device.type == 'cuda' else _processor()
    return dict(
        device=str(device),
        device_name=name,
        threads=torch.get_num_threads(),
        torch=torch.__version__,
        python=platform.python_version(),
        system=platform.platform(),
    )


def _processor() -> str:
    try:
        with open('/proc/cpuinfo') as file:
            names = [line for line in file if line.startswith('model name')]
    except OSError:
        names = []
    return names[0].split(':', 1)[1].strip() if names else platform.processor()


def as_json(results: Sequence[Measurement]) -> list[dict[str, Any]]:
    """The measurements as plain data."""
    return [asdict(result) for result in results]
