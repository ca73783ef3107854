"""Which distributions are installed, and whether they fit each other."""

import functools
import importlib
from importlib import metadata
from types import ModuleType

FAMILIES = {
    'mmengine': ('onedl-mmengine', 'mmengine', 'mmengine-lite'),
    'mmcv': ('onedl-mmcv', 'mmcv', 'mmcv-lite', 'mmcv-full'),
    'mmdet': ('onedl-mmdetection', 'mmdet'),
    'mmseg': ('onedl-mmsegmentation', 'mmsegmentation'),
}
HOW_TO_COMPILE = (
    'pip install --force-reinstall --no-deps --no-build-isolation --no-cache-dir '
    'onedl-mmcv (a C++ compiler at work for about an hour), or, for the classic '
    'family, a wheel from https://download.openmmlab.com/mmcv/dist'
)


@functools.cache
def import_torchvision() -> ModuleType:
    """Import torchvision.

    Raises:
        ImportError: If it is missing, or built for another torch; the message names
            both versions and the command that mends it.
    """
    try:
        return importlib.import_module('torchvision')
    except (ImportError, RuntimeError, OSError) as error:
        raise ImportError(_torchvision_problem(str(error))) from error


def _torchvision_problem(reason: str) -> str:
    torch, torchvision = installed('torch'), installed('torchvision')
    if torchvision is None:
        return (
            f'torchvision is not installed; torch {torch} needs the release made for '
            'it: pip install torchvision'
        )
    index = 'https://download.pytorch.org/whl/cpu'
    hint = f' --index-url {index}' if '+cpu' in str(torch) else ''
    return (
        f'torchvision {torchvision} does not load beside torch {torch} '
        f'({reason.splitlines()[0] if reason else "no reason given"}): they are not '
        'of one build. Install both in one go: pip install --force-reinstall torch '
        f'torchvision{hint}'
    )


def installed(distribution: str) -> str | None:
    """Version of an installed distribution, or None."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def package_clashes() -> list[str]:
    """What is wrong among the installed OpenMMLab distributions, one line each.

    Two distributions of one module overwrite each other's files, and members of the
    OneDL family do not fit members of the classic one.
    """
    found = {
        module: {d: v for d in names if (v := installed(d)) is not None}
        for module, names in FAMILIES.items()
    }
    problems = []
    for module, versions in found.items():
        if len(versions) > 1:
            problems.append(
                f'{_list(versions)} both provide the module {module}. Keep one: '
                f'pip uninstall -y {" ".join(versions)}, then install again'
            )
    everything = {d: v for versions in found.values() for d, v in versions.items()}
    onedl = {d: v for d, v in everything.items() if d.startswith('onedl-')}
    classic = {d: v for d, v in everything.items() if d not in onedl}
    if onedl and classic and not problems:
        problems.append(
            f'families are mixed: {_list(onedl)} beside {_list(classic)}. Keep one: '
            f'pip uninstall -y {" ".join(classic)}, then pip install "mmcasvit[onedl]"'
        )
    mmcv = classic.get('mmcv') or classic.get('mmcv-lite')
    if 'mmdet' in classic and mmcv and _release(mmcv) >= (2, 2):
        problems.append(
            f'mmdet {classic["mmdet"]} refuses mmcv {mmcv} (it wants < 2.2.0): pip '
            'uninstall -y mmcv mmcv-lite, then pip install mmcv-lite==2.1.0'
        )
    return problems


def environment_problems() -> list[str]:
    """`package_clashes`, and whether torchvision loads beside torch."""
    problems = package_clashes()
    try:
        import_torchvision()
    except ImportError as error:
        problems.append(str(error))
    return problems


def _list(versions: dict[str, str]) -> str:
    return ' and '.join(f'{d} {v}' for d, v in versions.items())


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(p) for p in version.split('+')[0].split('.')[:2] if p.isdigit())
