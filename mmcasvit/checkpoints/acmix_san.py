"""ACmix-SAN: nothing was ever released; its own state dicts load as they are."""

from .keymap import KeyMap
from .release import Release

RELEASE = Release(
    key_map=KeyMap(prefixes={'stem.': 'stem.', 'stages.': 'stages.'}),
    first_key='stem.0.weight',
)
