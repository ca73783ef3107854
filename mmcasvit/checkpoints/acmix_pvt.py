"""ACmix-PVT: none was released; state dicts of a plain PVT (v1)."""

import math
import re

import torch

from .keymap import KeyMap
from .release import Release, State

_STAGES = range(4)
_LINEAR = re.compile(r'.*\.(attn\.(q|k|v|proj)|mlp\.fc[12])\.weight$')
_POSITION = re.compile(r'^pos_embed\d$')


def _unpack(state: State) -> State:
    """k and v apart, linear layers as 1×1 convolutions, positions as maps."""
    unpacked: State = {}
    for key, value in state.items():
        parts = {key: value}
        if '.attn.kv.' in key:
            names = (key.replace('.kv.', f'.{x}.') for x in 'kv')
            parts = dict(zip(names, value.chunk(2), strict=True))
        for name, part in parts.items():
            if _LINEAR.match(name):
                part = part[:, :, None, None]
            if _POSITION.match(name):
                part = _as_map(part)
            unpacked[name] = part
    return unpacked


def _as_map(position: torch.Tensor) -> torch.Tensor:
    """(1, tokens, C) → (1, C, side, side); a class token before the others goes."""
    side = math.isqrt(position.shape[1])
    position = position[:, position.shape[1] - side**2 :]
    return position.transpose(1, 2).unflatten(2, (side, side))


def _pack(state: State) -> State:
    """The inverse of `_unpack`, without the class token, which a pyramid has not."""
    packed: State = {}
    for key, value in state.items():
        if '.attn.v.' in key:
            continue
        if '.attn.k.' in key:
            value = torch.cat([value, state[key.replace('.k.', '.v.')]])
        if _LINEAR.match(key):
            value = value[:, :, 0, 0]
        if _POSITION.match(key):
            value = value.flatten(2).transpose(1, 2)
        packed[key.replace('.attn.k.', '.attn.kv.')] = value
    return packed


RELEASE = Release(
    key_map=KeyMap(
        prefixes={
            'patch_embed1.': 'stem.',
            **{
                f'patch_embed{i + 1}.': f'stages.{i}.downsample.0.' for i in _STAGES[1:]
            },
            **{f'pos_embed{i + 1}': f'stages.{i}.downsample.1.weight' for i in _STAGES},
            **{f'block{i + 1}.': f'stages.{i}.blocks.' for i in _STAGES},
        },
        infixes={
            '.attn.sr.': '.acmix.attention.shrink.',
            '.attn.norm.': '.acmix.attention.norm.',
            '.attn.proj.': '.acmix.attention.proj.',
            **{f'.attn.{x}.': f'.acmix.{x}.' for x in 'qkv'},
            **{f'.attn.{x}.': f'.acmix.{x}.' for x in ('fc', 'shift')},
            '.attn.alpha': '.acmix.alpha',
            '.attn.beta': '.acmix.beta',
        },
    ),
    first_key='block1.0.attn.q.weight',
    classifier=('norm.', 'head.', 'cls_token'),
    optional=(r'stages\.\d+\.blocks\.\d+\.acmix\.(fc|shift|alpha|beta)',),
    unpack=_unpack,
    pack=_pack,
)
