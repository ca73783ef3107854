"""What a wheel holds."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_wheel_carries_configs_and_tools(tmp_path):
    tree = tmp_path / 'tree'
    tree.mkdir()
    for name in ('mmcasvit', 'configs', 'tools'):
        ignore = shutil.ignore_patterns('__pycache__')
        shutil.copytree(ROOT / name, tree / name, ignore=ignore)
    for name in ('setup.py', 'README.md', 'LICENSE'):
        shutil.copy(ROOT / name, tree / name)
    command = [sys.executable, '-m', 'pip', 'wheel', '--no-deps', '--quiet']
    command += ['--no-build-isolation', '-w', str(tmp_path), str(tree)]
    subprocess.run(command, check=True)
    [wheel] = tmp_path.glob('mmcasvit-*.whl')
    names = set(zipfile.ZipFile(wheel).namelist())
    assert 'mmcasvit/.mim/model-index.yml' in names
    for folder in ('configs', 'tools'):
        for path in (ROOT / folder).rglob('*'):
            if path.is_file() and '__pycache__' not in path.parts:
                assert f'mmcasvit/.mim/{path.relative_to(ROOT)}' in names
    assert not any('__pycache__' in n or n.startswith(('tests', 'data')) for n in names)
    assert any(n.endswith('licenses/LICENSE') for n in names)
