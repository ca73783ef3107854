"""`mmcv._ext` for installations of mmcv that have no compiled operators.

`mmcv.ops` looks up the compiled module by name when it is imported. Where that module
is missing, `install()` enters one whose functions call torchvision's kernels; other
operators raise with their name and the way to compiled ones.
"""

import functools
import importlib
import logging
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from mmengine.logging import print_log

from . import deform_kernels, kernels
from .environment import HOW_TO_COMPILE

NAME = 'mmcv._ext'
SERVED = {
    **{
        name: getattr(kernels, name)
        for name in (
            'nms',
            'softnms',
            'roi_align_forward',
            'roi_align_backward',
            'sigmoid_focal_loss_forward',
            'sigmoid_focal_loss_backward',
            'softmax_focal_loss_forward',
            'softmax_focal_loss_backward',
        )
    },
    **{
        name: getattr(deform_kernels, name)
        for name in (
            'deform_conv_forward',
            'deform_conv_backward_input',
            'deform_conv_backward_parameters',
            'modulated_deform_conv_forward',
            'modulated_deform_conv_backward',
        )
    },
}


class TorchvisionExt(ModuleType):
    """Stands where mmcv expects its compiled module.

    Args:
        reason: Why the compiled one is not used, for the log.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(NAME, __doc__)
        self.__spec__ = ModuleSpec(NAME, loader=None, origin=__file__)
        self._reason = reason
        self._announced = False
        for name, function in SERVED.items():
            setattr(self, name, _announcing(self, function))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith('_'):
            raise AttributeError(f'module {NAME!r} has no attribute {name!r}')
        if name in ('get_compiler_version', 'get_compiling_cuda_version'):
            return lambda: 'none: torchvision serves mmcv.ops'
        return functools.partial(_refuse, name)

    def announce(self) -> None:
        """Say once in the log that this module serves."""
        if self._announced:
            return
        self._announced = True
        print_log(
            f'mmcv has no compiled operators here ({self._reason}); '
            "mmcasvit.compat.mmcv_ops serves mmcv.ops with torchvision's kernels",
            logger='current',
            level=logging.INFO,
        )


def _announcing(ext: TorchvisionExt, function: Callable) -> Callable:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        ext.announce()
        return function(*args, **kwargs)

    return call


def _refuse(operator: str, *_: Any, **__: Any) -> NoReturn:
    raise NotImplementedError(
        f'mmcv.ops needs the compiled operator {operator!r}, and this installation of '
        f'mmcv has none; torchvision has no kernel for it. Served are '
        f'{", ".join(sorted(SERVED))}. To install the compiled ones: {HOW_TO_COMPILE}'
    )


def install() -> bool:
    """Make `mmcv.ops` importable and usable; compiled operators are never replaced.

    Returns:
        True if torchvision's kernels serve, False if mmcv's compiled ones do.
    """
    try:
        ext = importlib.import_module(NAME)
    except ImportError as error:
        ext = TorchvisionExt(str(error).splitlines()[0])
        sys.modules[NAME] = ext
        sys.modules['mmcv']._ext = ext
    return isinstance(ext, TorchvisionExt)
