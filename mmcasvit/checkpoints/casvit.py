"""CAS-ViT: the release's state dicts."""

from .keymap import KeyMap
from .release import Release

_STAGES = range(4)
_GATE = {'0.block.0': 'spatial.dw', '0.block.1': 'spatial.norm'}
_GATE |= {'0.block.3': 'spatial.score', '1.block.1': 'channel.score'}

RELEASE = Release(
    key_map=KeyMap(
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
    ),
    first_key='patch_embed.0.weight',
    # The final norm and both heads of the ImageNet models, which have no output norms.
    classifier=('norm.', 'head.', 'dist_head.'),
    optional=(r'norms\.',),
)
