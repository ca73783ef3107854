"""Reading checkpoint files, and loading them into backbones with a report."""

import argparse
import pickle
import re
from pathlib import Path

import torch
from torch import Tensor, nn

from .release import Release, summary

# Training scripts like to save their arguments beside the weights: plain data.
torch.serialization.add_safe_globals([argparse.Namespace])

MIN_LOADED = 0.9
_WRAPPERS = ('state_dict_ema', 'model_ema', 'ema', 'state_dict', 'model', 'backbone')
_COUNTER = 'num_batches_tracked'
_PREFIX = re.compile(r'^(module\.|backbone\.|encoder\.)+')


def read_state_dict(path: str | Path, trust: bool = False) -> dict[str, Tensor]:
    """Read a checkpoint file and take its outer wrappings off.

    Known wrappings are EMA weights (preferred where a file holds both), `state_dict`,
    `model` and `backbone` as dict keys.

    Args:
        path: A file of `torch.save`.
        trust: Run the file's own pickle code where it holds more than plain data.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is no checkpoint, or holds more than plain data and
            `trust` is not set.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f'no checkpoint at {path}')
    try:
        checkpoint = torch.load(path, map_location='cpu', weights_only=not trust)
    except (pickle.UnpicklingError, EOFError, RuntimeError) as error:
        raise ValueError(
            f'{path} does not read as plain weights: {str(error).splitlines()[0]}. If '
            'its author is known to you, read it with trust=True and save its '
            'state_dict anew'
        ) from error
    while isinstance(checkpoint, dict):
        inner = next(
            (w for w in _WRAPPERS if isinstance(checkpoint.get(w), dict)), None
        )
        if inner is None:
            break
        checkpoint = checkpoint[inner]
    if not isinstance(checkpoint, dict):
        raise ValueError(f'{path} holds a {type(checkpoint).__name__}, no state dict')
    return {k: v for k, v in checkpoint.items() if isinstance(v, Tensor)}


def strip_prefixes(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Take `module.`, `backbone.` and `encoder.` off the keys.

    In a whole detector's or segmentor's state dict only the backbone's keys are kept.
    """
    nested = {k for k in state if re.match(r'(module\.)?backbone\.', k)}
    kept = {k: v for k, v in state.items() if not nested or k in nested}
    return {_PREFIX.sub('', k): v for k, v in kept.items()}


def load_pretrained(module: nn.Module, path: str | Path, release: Release) -> str:
    """Load a checkpoint file into a backbone and return the report.

    Args:
        module: The backbone.
        path: A file of `torch.save`, with the release's keys or ours.
        release: What the family's released files hold.

    Raises:
        FileNotFoundError, ValueError: As `read_state_dict`.
        ValueError: If under 90 % of the tensors that such a file holds were found, or a
            shape differs; the message says which.
    """
    state = release.to_ours(strip_prefixes(read_state_dict(path)))
    own = {k: v for k, v in module.state_dict().items() if not k.endswith(_COUNTER)}
    state = {k: v for k, v in state.items() if not k.endswith(_COUNTER)}
    lacking = release.lacking(state, own)
    found = own.keys() & state.keys()
    differing = [k for k in own if k in found and own[k].shape != state[k].shape]
    name = type(module).__name__
    report = f'{path}: {len(found)} of {len(own)} tensors loaded into {name}'
    if lacking:
        report += f'; new, as no such file holds them: {summary(lacking)}'
    if missing := [k for k in own if k not in found and k not in lacking]:
        report += f'; missing: {summary(missing)}'
    if unused := [k for k in state if k not in found]:
        report += f'; not used: {summary(unused)}'
    if differing:
        key = differing[0]
        raise ValueError(
            f'{path} does not fit {name}: {len(differing)} tensors differ in shape, '
            f'{key} is {tuple(state[key].shape)} there and {tuple(own[key].shape)} '
            "here. Check the backbone's arch or depth against the file"
        )
    if len(found) < MIN_LOADED * (len(own) - len(lacking)):
        raise ValueError(
            f'{report}. Under {MIN_LOADED:.0%} is taken for the wrong file: check the '
            "backbone's arch or depth against it"
        )
    module.load_state_dict(state, strict=False)
    return report
