"""Deterministic weights and inputs: the golden values in tests/data belong to them.

Every tensor is a function of its release name and its shape alone.
"""

import zlib
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def fill_tensor(name: str, shape: Sequence[int]) -> Tensor:
    """Value of the tensor called `name` in the release's state dict."""
    rng = np.random.RandomState(zlib.crc32(name.encode()))
    x = rng.standard_normal(tuple(shape)).astype(np.float32)
    leaf = name.rsplit('.', 1)[-1]
    if leaf == 'num_batches_tracked':
        return torch.zeros((), dtype=torch.long)
    if leaf == 'running_var':
        x = 0.5 + np.abs(x)
    elif leaf in ('running_mean', 'bias'):
        x = 0.1 * x
    elif leaf in ('rate1', 'rate2'):
        x = 0.5 + 0.1 * x
    elif leaf == 'relative_position_bias_table':
        x = 0.2 * x
    elif leaf == 'weight' and x.ndim == 1:
        x = 1.0 + 0.1 * x
    elif leaf == 'weight':
        fan_in = int(np.prod(x.shape[1:]))
        x = x * np.float32(0.5 * (1.0 / max(fan_in, 1)) ** 0.5)
    return torch.from_numpy(np.asarray(x, dtype=np.float32))


def fill_input(shape: Sequence[int], seed: int = 0) -> Tensor:
    """Input of `shape` for a golden value."""
    rng = np.random.RandomState(seed)
    return torch.from_numpy(rng.standard_normal(tuple(shape)).astype(np.float32))
