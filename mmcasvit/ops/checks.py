"""Checks that operators share, with errors a person can act on."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor


def check_positive(**values: int) -> None:
    """Raise ValueError unless every value is an integer ≥ 1."""
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f'{name} must be an integer of at least 1, got {value!r}')


def check_odd(name: str, value: int) -> None:
    """Raise ValueError unless `value` is an odd integer ≥ 1: a window has a centre."""
    check_positive(**{name: value})
    if value % 2 == 0:
        raise ValueError(
            f'{name} must be odd, so that the window has a centre; got {value}: take '
            f'{value - 1} or {value + 1}'
        )


def check_divides(parts: int, channels: int, name: str = 'num_heads') -> None:
    """Raise ValueError unless `channels` split evenly into `parts`, called `name`."""
    check_positive(**{name: parts})
    if channels % parts:
        fitting = [n for n in range(1, channels + 1) if channels % n == 0]
        nearest = min(fitting, key=lambda n: abs(n - parts))
        raise ValueError(
            f'{channels} channels do not split into {name}={parts}; the nearest '
            f'number that fits is {nearest}'
        )


def check_choice(name: str, value: str, allowed: Iterable[str]) -> None:
    """Raise ValueError unless `value` is one of those `allowed`."""
    if value not in allowed:
        raise ValueError(f'{name} must be one of {[*allowed]}, got {value!r}')


def check_maps(**maps: Tensor) -> None:
    """Raise unless all are (B, C, H, W) maps of one shape, dtype and device."""
    (first_name, first), *others = maps.items()
    if first.ndim != 4 or min(first.shape[2:]) < 1:
        raise ValueError(
            f'{first_name} must be (B, C, H, W) with H, W ≥ 1, got {tuple(first.shape)}'
        )
    for name, other in others:
        if other.shape != first.shape:
            raise ValueError(
                f'{name} must have the shape of {first_name}, {tuple(first.shape)}; '
                f'got {tuple(other.shape)}'
            )
        if (other.dtype, other.device) != (first.dtype, first.device):
            raise TypeError(
                f'{name} must be {first.dtype} on {first.device} as {first_name}, got '
                f'{other.dtype} on {other.device}: use {name}.to({first_name})'
            )


def own_precision(x: Tensor) -> AbstractContextManager:
    """Context in which autocast does not touch what is computed on x's device."""
    device = x.device.type
    if not torch.amp.is_autocast_available(device):  # meta
        return nullcontext()
    return torch.autocast(device, enabled=False)
