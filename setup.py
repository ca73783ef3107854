"""Build and install. Configs and tools travel in the wheel as `mmcasvit/.mim`."""

import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).parent
TRAVELLING = ('configs', 'tools')


def travelling_files() -> list[Path]:
    files = [p for d in TRAVELLING for p in Path(d).rglob('*') if p.is_file()]
    return [p for p in files if '__pycache__' not in p.parts]


class BuildWithMim(build_py):
    """Copy configs, tools and the model index to where mim looks for them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        mim = Path(self.build_lib) / 'mmcasvit' / '.mim'
        for source in travelling_files():
            target = mim / source
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
        shutil.copy2('configs/model-index.yml', mim / 'model-index.yml')


class SourceWithMim(sdist):
    """Put the same files into a source distribution."""

    def add_defaults(self) -> None:
        super().add_defaults()
        self.filelist.extend([str(p) for p in travelling_files()])


version: dict[str, str] = {}
exec((ROOT / 'mmcasvit' / 'version.py').read_text(), version)

# What the classic hosts import without naming it, or in newer releases than they fit.
forgotten = [
    'setuptools<81',  # mmengine, mmdet: pkg_resources
    'ftfy',  # mmseg: text models' tokenizer
    'regex',  # mmseg: the same
    'scipy',  # mmdet: Hungarian assignment
    'shapely',  # mmdet: polygons
    'terminaltables',  # mmdet: tables of AP per class
    'prettytable',  # mmseg: tables of IoU per class
    'rich',  # mmengine: logs and tables
]
extras = {
    # The maintained distributions: the default. What they forget to name (torch and
    # torchvision) the project itself requires.
    'onedl': [
        'onedl-mmengine>=0.10.12',
        'onedl-mmcv>=2.3.6',
        'onedl-mmdetection>=3.5.1',
        'onedl-mmsegmentation>=1.4.2',
    ],
    # The classic distributions.
    'openmmlab': [
        'mmengine>=0.10.7,<0.11',
        'mmcv-lite==2.1.0',
        'mmdet==3.3.0',
        'mmsegmentation==1.2.2',
        *forgotten,
    ],
    # The tests; timm's token mixers are what ours are compared with.
    'test': ['pytest', 'pytest-xdist', 'timm'],
}
extras['dev'] = [*extras['test'], 'ruff']

setup(
    name='mmcasvit',
    version=version['__version__'],
    description='CAS-ViT and ACmix for dense prediction with OpenMMLab',
    long_description=(ROOT / 'README.md').read_text(),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    python_requires='>=3.10',
    packages=find_packages(include=['mmcasvit', 'mmcasvit.*']),
    install_requires=[
        'torch>=2.4',
        'torchvision',  # kernels behind mmcv.ops
        'pycocotools',  # masks of the embedded data, COCO's metric
        'opencv-python',  # drawing of the embedded data
        'rich',  # progress
    ],
    extras_require=extras,
    cmdclass=dict(build_py=BuildWithMim, sdist=SourceWithMim),
)
