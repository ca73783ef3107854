"""What a release's files hold, and the door by which they load into our modules."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass

from mmengine.logging import print_log
from torch import Tensor, nn

from .keymap import KeyMap

State = dict[str, Tensor]


def unchanged(state: State) -> State:
    """The state dict itself: a release whose tensors are ours but for their names."""
    return state


@dataclass(frozen=True)
class Release:
    """State dicts of one family of released models.

    Args:
        key_map: The release's keys → ours.
        first_key: A key that all its files hold; it shows what prefix they have.
        classifier: Beginnings of keys that have no place in a pyramid.
        optional: Patterns of our keys that whole kinds of its files lack. A file with
            no such key loads; the module's own values stay.
        unpack: Makes a file's tensors those that the key map names: splits, reshapes
            and leaves out.
        pack: The inverse of `unpack`.
    """

    key_map: KeyMap
    first_key: str
    classifier: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    unpack: Callable[[State], State] = unchanged
    pack: Callable[[State], State] = unchanged

    def to_ours(self, state: State) -> State:
        """Rename a state dict without a prefix; what is no backbone's keeps its name.

        The classifier is left out.
        """
        body = {k: v for k, v in state.items() if not k.startswith(self.classifier)}
        return {self.key_map(k) or k: v for k, v in self.unpack(body).items()}

    def to_theirs(self, state: State) -> State:
        """Rename our keys to the release's: the inverse of `to_ours`.

        Raises:
            ValueError: If a key is not of the family's backbone.
        """
        back = self.key_map.inverse()
        renamed = {back(key): value for key, value in state.items()}
        if None in renamed:
            foreign = [key for key in state if back(key) is None]
            raise ValueError(
                f'{len(foreign)} keys are not of such a backbone, for example '
                f"{foreign[0]!r}; pass the backbone's state dict alone"
            )
        return self.pack(renamed)

    def lacking(self, ours: State, expected: State) -> list[str]:
        """Expected keys that a renamed file lacks because of the kind of file it is."""
        absent = []
        for pattern in map(re.compile, self.optional):
            if not any(pattern.match(key) for key in ours):
                absent += [key for key in expected if pattern.match(key)]
        return absent

    def adapt(self, module: nn.Module, state: State, prefix: str, *_: object) -> None:
        """`load_state_dict` pre-hook: rename a release's keys in place.

        They are found at `prefix`, or under one more prefix of the file's own. What the
        module has not built (stages and norms outside its `out_indices`, layers that
        another kind replaced) is left out; for what the kind of file lacks the module's
        own values stand in, and the log says so.
        """
        own = {k[len(prefix) :]: k for k in state if k.startswith(prefix)}
        found = next((k for k in own if _ends_with(k, self.first_key)), None)
        if found is None:
            return
        nested = found[: -len(self.first_key)]
        taken = {
            k[len(nested) :]: state.pop(full)
            for k, full in own.items()
            if k.startswith(nested)
        }
        expected = module.state_dict()
        renamed = self.to_ours(taken)
        if absent := self.lacking(renamed, expected):
            renamed |= {key: expected[key] for key in absent}
            print_log(
                f'the weights hold none of {summary(absent)}: these keep their initial '
                'values',
                logger='current',
                level=logging.INFO,
            )
        for key, value in renamed.items():
            if key in expected or not key.startswith(('stages.', 'norms.')):
                state[prefix + key] = value


def summary(keys: list[str], most: int = 6) -> str:
    """The first few keys, and how many more there are."""
    rest = f' and {len(keys) - most} more' if len(keys) > most else ''
    return ', '.join(keys[:most]) + rest


def _ends_with(key: str, name: str) -> bool:
    return key == name or key.endswith('.' + name)
