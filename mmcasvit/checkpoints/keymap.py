"""Renaming of state-dict keys by table, in both directions."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class KeyMap:
    """A reversible renaming: at most one prefix and one infix of a key change.

    Args:
        prefixes: Old beginning of a key → new beginning.
        infixes: Old part in a key → new part. Each, and each replacement, starts with a
            dot and ends with one or at the key's end, so that whole names are met.
    """

    prefixes: dict[str, str]
    infixes: dict[str, str] = field(default_factory=dict)

    def __call__(self, key: str) -> str | None:
        """Return the new name of `key`, or None where no prefix knows it."""
        for old, new in self.prefixes.items():
            if key.startswith(old):
                key = new + key[len(old) :]
                break
        else:
            return None
        for old, new in self.infixes.items():
            if old in key:
                return key.replace(old, new, 1)
        return key

    def inverse(self) -> 'KeyMap':
        """Return the map that undoes this one."""
        return KeyMap(
            {new: old for old, new in self.prefixes.items()},
            {new: old for old, new in self.infixes.items()},
        )
