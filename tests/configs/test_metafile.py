"""The model index, the zoo tables and the configs say the same."""

import re

import pytest
import yaml
from models import CONFIGS

from mmcasvit.backbones.archs import ACMIX_RESNET_ARCHS, CASVIT_ARCHS

ROOT = CONFIGS.parent
FAMILIES = ('casvit', 'acmix')
MODELS = {
    model['Name']: model
    for family in FAMILIES
    for model in yaml.safe_load((CONFIGS / family / 'metafile.yml').read_text())[
        'Models'
    ]
}


def metrics(name):
    found = {}
    for result in MODELS[name].get('Results', []):
        found |= result['Metrics']
    return found


def test_index_finds_the_metafile():
    index = yaml.safe_load((CONFIGS / 'model-index.yml').read_text())
    assert index['Import'] == [f'configs/{f}/metafile.yml' for f in FAMILIES]
    assert all((ROOT / path).is_file() for path in index['Import'])


def test_every_result_has_its_config():
    names = {p.stem for family in FAMILIES for p in (CONFIGS / family).glob('*.py')}
    assert set(MODELS) == names
    assert all((ROOT / m['Config']).is_file() for m in MODELS.values())


@pytest.mark.parametrize('readme', ['README.md', 'configs/casvit/README.md'])
@pytest.mark.parametrize('arch', sorted(CASVIT_ARCHS))
def test_tables(readme, arch):
    [row] = re.findall(
        rf'^\| (?:CAS-ViT-)?{arch.upper()} \|.*$',
        (ROOT / readme).read_text(),
        flags=re.MULTILINE,
    )
    row = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', row)
    cells = [cell.strip() for cell in row.strip('|').split('|')]
    mask_rcnn = metrics(f'maskrcnn_casvit_{arch}_1x_coco')
    assert float(cells[1]) == CASVIT_ARCHS[arch].params
    retinanet = metrics(f'retinanet_casvit_{arch}_1x_coco')
    assert float(cells[3]) == retinanet['box AP']
    assert cells[4] == f'{mask_rcnn["box AP"]} / {mask_rcnn["mask AP"]}'
    semantic_fpn = metrics(f'semanticfpn_casvit_{arch}_40k_ade20k')
    assert float(cells[5]) == semantic_fpn['mIoU']
    assert metrics(f'upernet_casvit_{arch}_160k_ade20k') == {}


@pytest.mark.parametrize('readme', ['README.md', 'configs/acmix/README.md'])
@pytest.mark.parametrize('depth', sorted(ACMIX_RESNET_ARCHS))
def test_acmix_tables(readme, depth):
    """Parameters are the published ones; there is no result to quote."""
    [row] = re.findall(
        rf'^\| ACmix-ResNet-{depth} \|.*$', (ROOT / readme).read_text(), re.MULTILINE
    )
    cells = [cell.strip() for cell in row.strip('|').split('|')]
    assert float(cells[1]) == ACMIX_RESNET_ARCHS[depth].params
    assert all('Results' not in m for name, m in MODELS.items() if 'acmix' in name)
