"""Where names in configs become classes.

Backbones go to MMEngine's root registry: MMDetection and MMSegmentation both look
there, so one registration serves both hosts.
"""

from collections.abc import Callable

from mmengine.registry import MODELS as ROOT_MODELS
from mmengine.registry import Registry
from torch import nn

MODELS = ROOT_MODELS
TOKEN_MIXERS = Registry('token mixer')
ACMIX_ATTENTIONS = Registry('ACmix attention')


def register(registry: Registry) -> Callable[[type], type]:
    """Class decorator: enter a class in `registry` under its own name.

    A class that is defined again (module reloaded, package imported twice) replaces
    itself; a foreign class of the same name is never replaced.

    Raises:
        KeyError: If `registry` holds another class of that name.
    """

    def enter(cls: type) -> type:
        known = registry.module_dict.get(cls.__name__)
        redefined = known is not None and (
            (known.__module__, known.__qualname__) == (cls.__module__, cls.__qualname__)
        )
        return registry.register_module(module=cls, force=redefined)

    return enter


def build_from(registry: Registry, cfg: dict, **defaults: object) -> nn.Module:
    """Build a module of one of our registries, whatever host is at work.

    Args:
        registry: `TOKEN_MIXERS` or `ACMIX_ATTENTIONS`.
        cfg: `type` and the module's own arguments.
        defaults: Arguments that every module of the registry gets.

    Raises:
        ValueError: If there is none of that type; the message lists those known.
    """
    arguments = {**defaults, **cfg}
    name = arguments.pop('type', None)
    if name not in registry.module_dict:
        raise ValueError(
            f'{registry.name} {name!r} is unknown; known are '
            f'{sorted(registry.module_dict)}'
        )
    return registry.module_dict[name](**arguments)
