import subprocess
import sys

import pytest

from mmcasvit.compat import environment
from mmcasvit.compat.environment import environment_problems, package_clashes

ONEDL = {
    'onedl-mmengine': '0.10.12',
    'onedl-mmcv': '2.3.6',
    'onedl-mmdetection': '3.5.1',
    'onedl-mmsegmentation': '1.4.2',
}
CLASSIC = {
    'mmengine': '0.10.7',
    'mmcv-lite': '2.1.0',
    'mmdet': '3.3.0',
    'mmsegmentation': '1.2.2',
}


@pytest.fixture
def pretend(monkeypatch):
    """Pretend that just these distributions are installed."""

    def install(versions):
        monkeypatch.setattr(environment, 'installed', versions.get)

    return install


@pytest.mark.parametrize('family', [ONEDL, CLASSIC, {}])
def test_one_family_is_fine(pretend, family):
    pretend(family)
    assert package_clashes() == []


@pytest.mark.parametrize(
    ('extra', 'words'),
    [
        ({'mmcv': '2.1.0'}, ['onedl-mmcv 2.3.6 and mmcv 2.1.0', 'the module mmcv']),
        ({'mmengine': '0.10.7'}, ['onedl-mmengine 0.10.12 and mmengine 0.10.7']),
        ({'mmdet': '3.3.0'}, ['onedl-mmdetection 3.5.1 and mmdet 3.3.0']),
    ],
)
def test_two_of_one_module(pretend, extra, words):
    pretend(ONEDL | extra)
    [text] = package_clashes()
    for word in [*words, 'pip uninstall -y', *extra]:
        assert word in text


def test_mixed_families(pretend):
    pretend({'onedl-mmengine': '0.10.12', 'mmcv-lite': '2.1.0'})
    [text] = package_clashes()
    assert 'onedl-mmengine 0.10.12 beside mmcv-lite 2.1.0' in text
    assert 'pip uninstall -y mmcv-lite' in text


@pytest.mark.parametrize('name', ['mmcv', 'mmcv-lite'])
def test_mmcv_that_mmdet_refuses(pretend, name):
    versions = dict(CLASSIC)
    del versions['mmcv-lite']
    pretend(versions | {name: '2.2.0'})
    [text] = package_clashes()
    assert 'mmdet 3.3.0 refuses mmcv 2.2.0' in text
    assert 'mmcv-lite==2.1.0' in text


class TestTorchvision:
    @pytest.fixture(autouse=True)
    def _fresh(self):
        environment.import_torchvision.cache_clear()
        yield
        environment.import_torchvision.cache_clear()

    def fail_with(self, monkeypatch, error):
        def fail(name):
            raise error

        monkeypatch.setattr(environment.importlib, 'import_module', fail)

    def test_of_another_build(self, monkeypatch, pretend):
        pretend({'torch': '2.8.0+cpu', 'torchvision': '0.23.0'})
        self.fail_with(
            monkeypatch, RuntimeError('operator torchvision::nms does not exist')
        )
        [text] = environment_problems()
        assert 'torchvision 0.23.0 does not load beside torch 2.8.0+cpu' in text
        assert 'pip install --force-reinstall torch torchvision --index-url' in text

    def test_missing(self, monkeypatch, pretend):
        pretend({'torch': '2.8.0'})
        self.fail_with(monkeypatch, ImportError('No module named torchvision'))
        [text] = environment_problems()
        assert 'torchvision is not installed' in text

    def test_here_it_fits(self):
        assert environment_problems() == []


def run(code, **kwargs):
    return subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, **kwargs
    )


def test_import_is_light():
    code = (
        'import torch, mmengine, time; start = time.perf_counter();'
        'import mmcasvit, sys;'
        'print([m for m in ("mmdet", "mmseg", "torchvision") if m in sys.modules])'
    )
    assert run(code).stdout.strip() == '[]'


def test_works_from_another_folder_twice_and_reloaded(tmp_path):
    code = (
        'import importlib, sys, mmcasvit, mmcasvit.backbones.casvit as c;'
        'importlib.reload(c); importlib.reload(mmcasvit);'
        '[sys.modules.pop(m) for m in list(sys.modules) if m.startswith("mmcasvit")];'
        'import mmcasvit;'
        'from mmengine.registry import MODELS;'
        'assert MODELS.get("CASViT") is mmcasvit.CASViT;'
        'print("fine")'
    )
    done = run(code, cwd=tmp_path)
    assert done.stdout.strip().endswith('fine'), done.stderr


def test_nothing_of_ours_needs_pkg_resources():
    code = (
        'import sys; sys.modules["pkg_resources"] = None;'
        'import mmcasvit, mmcasvit.engine.launch, mmcasvit.datasets.shapes;'
        'print("fine")'
    )
    done = run(code)
    assert done.stdout.strip() == 'fine', done.stderr
