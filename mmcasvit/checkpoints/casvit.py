"""CAS-ViT: the release's state-dict keys ↔ ours."""

import logging

from mmengine.logging import print_log
from torch import Tensor, nn

from .keymap import KeyMap

_STAGES = range(4)
_GATE = {'0.block.0': 'spatial.dw', '0.block.1': 'spatial.norm'}
_GATE |= {'0.block.3': 'spatial.score', '1.block.1': 'channel.score'}

RELEASE_TO_OURS = KeyMap(
    prefixes={
        'patch_embed.0.': 'stem.conv1.',
        'patch_embed.1.': 'stem.norm1.',
        'patch_embed.3.': 'stem.conv2.',
        'patch_embed.4.': 'stem.norm2.',
        **{f'network.{2 * i}.': f'stages.{i}.blocks.' for i in _STAGES},
        **{f'network.{2 * i - 1}.': f'stages.{i}.downsample.' for i in _STAGES[1:]},
        **{f'norm{2 * i}.': f'norms.{i}.' for i in _STAGES},
    },
    infixes={
        '.local_perception.network.0.': '.integration.pw1.',
        '.local_perception.network.1.': '.integration.norm.',
        '.local_perception.network.2.': '.integration.dw.',
        '.local_perception.network.4.': '.integration.pw2.',
        **{
            f'.attn.oper_{x}.{old}.': f'.token_mixer.phi_{x}.{new}.'
            for x in 'qk'
            for old, new in _GATE.items()
        },
        '.attn.dwc.': '.token_mixer.ctx.',
        '.attn.qkv.': '.token_mixer.qkv.',
        '.attn.proj.': '.token_mixer.proj.',
    },
)
OURS_TO_RELEASE = RELEASE_TO_OURS.inverse()

CLASSIFIER = ('norm.', 'head.', 'dist_head.')
_FIRST_KEY = 'patch_embed.0.weight'


def from_release(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Rename a release backbone's keys to ours.

    Keys of the ImageNet classifier (final norm, both heads) have no place in a
    pyramid and are left out; keys that are no backbone's stay as they are.

    Args:
        state: The release's state dict, without a prefix.
    """
    renamed = {}
    for key, value in state.items():
        if not key.startswith(CLASSIFIER):
            renamed[RELEASE_TO_OURS(key) or key] = value
    return renamed


def to_release(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Rename our keys to the release's: the inverse of `from_release`.

    Raises:
        ValueError: If a key is not one of `CASViT`'s.
    """
    renamed = {OURS_TO_RELEASE(key): value for key, value in state.items()}
    if None in renamed:
        foreign = [key for key in state if OURS_TO_RELEASE(key) is None]
        raise ValueError(
            f'{len(foreign)} keys are not of a CAS-ViT backbone, for example '
            f"{foreign[0]!r}; pass the backbone's state dict alone"
        )
    return renamed


def adapt_release_state(
    module: nn.Module, state: dict[str, Tensor], prefix: str, *_: object
) -> None:
    """`load_state_dict` pre-hook: rename a release's keys in place.

    They are found at `prefix`, or under one more prefix of the file's own. What the
    module has not built (stages and norms outside its `out_indices`) is left out. An
    ImageNet classifier has no pyramid norms: the module's own values stand in, and
    the log says so.
    """
    own = {k[len(prefix) :]: k for k in state if k.startswith(prefix)}
    found = next((k for k in own if k.endswith(_FIRST_KEY)), None)
    if found is None:
        return
    nested = found[: -len(_FIRST_KEY)]
    taken = {
        k[len(nested) :]: state.pop(full)
        for k, full in own.items()
        if k.startswith(nested)
    }
    expected = module.state_dict()
    renamed = from_release(taken)
    if not any(key.startswith('norms.') for key in renamed):
        print_log(
            'ImageNet weights of CAS-ViT hold no output norms: norms.* keep their '
            'initial values',
            logger='current',
            level=logging.INFO,
        )
        renamed |= {k: v for k, v in expected.items() if k.startswith('norms.')}
    for key, value in renamed.items():
        if key in expected or not key.startswith(('stages.', 'norms.')):
            state[prefix + key] = value
