"""CAS-ViT and ACmix as pyramid backbones for MMDetection and MMSegmentation.

Importing the package makes `mmcv.ops` usable where mmcv has no compiled operators and
enters the backbones in MMEngine's registry. It imports neither mmdet nor mmseg.
"""

import warnings

from .compat import mmcv_ops
from .compat.environment import package_clashes
from .version import __version__

for _problem in package_clashes():
    warnings.warn(f'mmcasvit: {_problem}', stacklevel=2)
mmcv_ops.install()

from .backbones import (  # noqa: E402
    ACmixPVT,
    ACmixResNet,
    ACmixSAN,
    ACmixSwin,
    CASViT,
    PyramidBackbone,
)
from .engine.hooks import DrawResultsHook, LogScalesHook  # noqa: E402
from .layers import ACmix  # noqa: E402

__all__ = [
    'ACmix',
    'ACmixPVT',
    'ACmixResNet',
    'ACmixSAN',
    'ACmixSwin',
    'CASViT',
    'DrawResultsHook',
    'LogScalesHook',
    'PyramidBackbone',
    '__version__',
]
