"""ACmix-ResNet: state dicts of its release, and of torchvision's and mmdet's ResNet."""

from .keymap import KeyMap
from .release import Release

_PARTS = {
    'conv1.': 'q.',
    'conv2.': 'k.',
    'conv3.': 'v.',
    'conv_p.': 'attention.position.',
    'fc.': 'fc.',
    'dep_conv.': 'shift.',
    'rate1': 'alpha',
    'rate2': 'beta',
}

RELEASE = Release(
    key_map=KeyMap(
        prefixes={
            'conv1.': 'stem.conv.',
            'bn1.': 'stem.norm.',
            **{f'layer{i + 1}.': f'stages.{i}.blocks.' for i in range(4)},
        },
        infixes={
            **{f'.conv2.{old}': f'.conv2.{new}' for old, new in _PARTS.items()},
            **{f'.bn{i}.': f'.norm{i}.' for i in (1, 2, 3)},
            '.downsample.0.': '.downsample.conv.',
            '.downsample.1.': '.downsample.norm.',
        },
    ),
    first_key='layer1.0.conv1.weight',
    classifier=('fc.',),
    # A plain ResNet has a 3×3 convolution where an ACmix layer is.
    optional=(r'stages\.\d+\.blocks\.\d+\.conv2\.(?!weight$|bias$)',),
)
