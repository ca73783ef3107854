"""Imports run one way; nobody needs the host that they don't use."""

import ast
import sys
from pathlib import Path

import pytest

import mmcasvit

PACKAGE = Path(mmcasvit.__file__).parent
FILES = sorted(PACKAGE.rglob('*.py'))
HOSTS = {'mmdet', 'mmseg'}
# Room → rooms it may import from.
ALLOWED = {
    'registry': set(),
    'version': set(),
    'ops': set(),
    'compat': set(),
    'checkpoints': set(),
    'datasets': set(),
    'layers': {'registry', 'ops'},
    'backbones': {'registry', 'ops', 'layers', 'checkpoints'},
    'engine': {'registry', 'layers', 'backbones', 'compat', 'checkpoints', 'datasets'},
    'analysis': {'registry', 'ops', 'layers', 'backbones'},
    '__init__': {'compat', 'layers', 'backbones', 'version', 'engine'},
}


def imported(path):
    """Absolute names of the modules that a file imports at module level."""
    package = ('mmcasvit', *path.relative_to(PACKAGE).parts[:-1])
    names = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            stem = '.'.join((*base, *filter(None, [node.module])))
            names += [f'{stem}.{alias.name}' for alias in node.names]
    return names


def room_of(path):
    return path.relative_to(PACKAGE).with_suffix('').parts[0]


@pytest.mark.parametrize('path', FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
class TestImports:
    def test_no_host_at_module_level(self, path):
        assert not HOSTS & {name.split('.')[0] for name in imported(path)}

    def test_one_way(self, path):
        room = room_of(path)
        ours = [n.split('.')[1] for n in imported(path) if n.startswith('mmcasvit.')]
        assert set(ours) <= ALLOWED[room] | {room}

    def test_size(self, path):
        lines = path.read_text().splitlines()
        assert len(lines) <= 330
        for node in ast.walk(ast.parse('\n'.join(lines))):
            if isinstance(node, ast.FunctionDef):
                body = node.end_lineno - node.body[0].lineno + 1
                documented = ast.get_docstring(node, clean=False) or ''
                assert body - documented.count('\n') <= 60, node.name


def test_operators_need_torch_alone():
    for path in FILES:
        if room_of(path) == 'ops':
            roots = {name.split('.')[0] for name in imported(path)}
            assert roots <= {'torch', 'mmcasvit', *sys.stdlib_module_names}, path


def test_project_speaks_of_itself_alone():
    root = PACKAGE.parent
    for path in [
        *FILES,
        *(root / 'configs').rglob('*.py'),
        *(root / 'tools').iterdir(),
    ]:
        if path.is_file():
            assert '/root/' not in path.read_text()
            assert '/work/' not in path.read_text()
