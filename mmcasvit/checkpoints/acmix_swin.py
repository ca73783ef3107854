"""ACmix-Swin: state dicts of its release, and of a plain Swin Transformer."""

import re

import torch
from torch import Tensor

from .keymap import KeyMap
from .release import Release, State

WINDOW = 7
SIDES = (56, 28, 14, 7)  # of the maps of a 224² picture, for which the release is built
_STAGES = range(4)
_REBUILT = ('.attn_mask', '.attn.relative_position_index')
_QKV = re.compile(r'^(.*\.attn\.)qkv\.(weight|bias)$')
_Q = re.compile(r'^(.*\.attn\.)q\.(weight|bias)$')
_LINEAR = re.compile(r'.*\.(attn\.(qkv|proj)|mlp\.fc[12])\.weight$')
_TABLE = '.relative_position_bias_table'


def _unpack(state: State) -> State:
    """One linear layer → three 1×1 convolutions; rebuilt buffers are left out."""
    unpacked: State = {}
    for key, value in state.items():
        if key.endswith(_REBUILT):
            continue
        if _LINEAR.match(key):
            value = value[:, :, None, None]
        if match := _QKV.match(key):
            names = (f'{match[1]}{x}.{match[2]}' for x in 'qkv')
            unpacked |= dict(zip(names, value.chunk(3), strict=True))
        else:
            unpacked[key] = value
    return unpacked


def _pack(state: State) -> State:
    """The inverse of `_unpack`."""
    packed: State = {}
    for key, value in state.items():
        if re.search(r'\.attn\.[kv]\.', key):
            continue
        if match := _Q.match(key):
            key = f'{match[1]}qkv.{match[2]}'
            value = torch.cat([state[f'{match[1]}{x}.{match[2]}'] for x in 'qkv'])
        packed[key] = value[:, :, 0, 0] if _LINEAR.match(key) else value
    return packed | _rebuilt(packed)


def _rebuilt(state: State) -> State:
    """The buffers a release keeps: relative positions, masks of shifted windows."""
    y, x = (
        p.flatten() for p in torch.meshgrid(*[torch.arange(WINDOW)] * 2, indexing='ij')
    )
    rows, cols = (p[:, None] - p + WINDOW - 1 for p in (y, x))
    index = rows * (2 * WINDOW - 1) + cols
    buffers: State = {}
    for key in state:
        if key.endswith(_TABLE):
            attention = key[: -len(_TABLE)]
            buffers[f'{attention}.relative_position_index'] = index
            _, stage, _, block, _ = attention.split('.')
            side = SIDES[int(stage)]
            if int(block) % 2 and side > WINDOW:
                buffers[f'{attention[: -len(".attn")]}.attn_mask'] = _mask(side)
    return buffers


def _mask(side: int) -> Tensor:
    """−100 between pixels that only the rolling of the map brought together."""
    shift, place = WINDOW // 2, torch.arange(side)
    part = (place >= side - WINDOW).long() + (place >= side - shift).long()
    region = (3 * part[:, None] + part).unflatten(0, (-1, WINDOW))
    region = region.unflatten(2, (-1, WINDOW)).transpose(1, 2).reshape(-1, WINDOW**2)
    return -100.0 * (region[:, None] != region[:, :, None]).float()


RELEASE = Release(
    key_map=KeyMap(
        prefixes={
            'patch_embed.': 'stem.',
            **{f'layers.{i}.blocks.': f'stages.{i}.blocks.' for i in _STAGES},
            **{
                f'layers.{i}.downsample.': f'stages.{i + 1}.downsample.'
                for i in _STAGES[:-1]
            },
        },
        infixes={
            '.attn.relative_position_bias_table': '.acmix.attention.relative_bias',
            '.attn.rate1': '.acmix.alpha',
            '.attn.rate2': '.acmix.beta',
            '.attn.fc.': '.acmix.fc.',
            '.attn.dep_conv.': '.acmix.shift.',
            **{f'.attn.{x}.': f'.acmix.{x}.' for x in 'qkv'},
            '.attn.proj.': '.acmix.attention.proj.',
        },
    ),
    first_key='layers.0.blocks.0.attn.qkv.weight',
    classifier=('norm.', 'head.'),
    # ImageNet models have no output norms; a plain Swin has no convolution path.
    optional=(r'norms\.', r'stages\.\d+\.blocks\.\d+\.acmix\.(fc|shift|alpha|beta)'),
    unpack=_unpack,
    pack=_pack,
)
