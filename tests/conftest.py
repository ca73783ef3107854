import json
import os
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

import mmcasvit  # noqa: F401
from mmcasvit.datasets.shapes import write_shapes

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / 'data'
# Real data sets for the tests that want them: beside the checkout, or where told.
REAL_DATA = Path(os.environ.get('MMCASVIT_TEST_DATA', ROOT.parent / 'shared' / 'data'))

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)
    np.random.seed(0)


def golden(name):
    """Arrays a release computes, and the release's keys with their shapes."""
    arrays = dict(np.load(DATA / f'{name}.npz'))
    keys = json.loads(zlib.decompress(arrays.pop('keys').tobytes()))
    return arrays, keys


@pytest.fixture(scope='session')
def casvit_golden():
    return golden('casvit')


@pytest.fixture(scope='session')
def acmix_golden():
    return golden('acmix')


@pytest.fixture(scope='session')
def swin_golden():
    return golden('swin')


@pytest.fixture(scope='session')
def mmcv_golden():
    """Inputs and outputs of mmcv's own compiled operators."""
    arrays = np.load(DATA / 'mmcv_ops.npz')
    return {name: torch.from_numpy(arrays[name]) for name in arrays}


@pytest.fixture(scope='session')
def shapes(tmp_path_factory):
    """A small set of the embedded data."""
    root = tmp_path_factory.mktemp('data') / 'shapes'
    return write_shapes(root, num_train=12, num_val=6, seed=3)


def pytest_terminal_summary(terminalreporter):
    from models import SHIPPED

    passed = terminalreporter.stats.get('passed', [])
    stepped = sum('test_takes_a_step[' in report.nodeid for report in passed)
    terminalreporter.write_line(
        f'{len(SHIPPED)} shipped configs, {stepped} loaded, built and took a step'
    )


def real_data(name):
    """Path of a real data set; the test is skipped where it is absent."""
    path = REAL_DATA / name
    if not path.is_dir():
        pytest.skip(f'no real data at {path}')
    return path
