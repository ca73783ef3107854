"""Counts against values worked out by hand."""

import pytest
import torch
from models import build, load
from torch import nn

from mmcasvit import ACmix, ACmixPVT, ACmixSAN, ACmixSwin
from mmcasvit.analysis.complexity import MultiplyAdds, complexity
from mmcasvit.analysis.published import FAMILIES, published_table
from mmcasvit.layers import AdditiveTokenMixer, MultiHeadSelfAttention


def by_kind(module, *shape):
    with torch.no_grad(), MultiplyAdds(module, []) as counted:
        module(torch.randn(shape))
    return dict(counted.by_kind)


class TestKinds:
    def test_convolutions(self):
        body = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Conv2d(8, 8, 3, groups=8)
        )
        assert by_kind(body, 2, 3, 10, 12) == {
            'convolution': 2 * 3 * 8 * 9 * 5 * 6,
            'depthwise convolution': 2 * 8 * 9 * 3 * 4,
        }

    def test_linear(self):
        assert by_kind(nn.Linear(4, 6), 5, 7, 4) == {'linear': 5 * 7 * 4 * 6}

    def test_self_attention(self):
        mixer = MultiHeadSelfAttention(8, num_heads=2).eval()
        assert by_kind(mixer, 1, 8, 5, 6) == {
            'convolution': 4 * 8 * 8 * 30,
            'attention': 2 * 8 * 30 * 30,
        }

    def test_additive_mixer(self):
        """qkv; four depthwise 3×3; spatial scores; channel scores; gates and v."""
        found = by_kind(AdditiveTokenMixer(8).eval(), 1, 8, 5, 6)
        assert found == {
            'convolution': 3 * 8 * 8 * 30 + 2 * 8 * 30 + 2 * 8 * 8,
            'depthwise convolution': 4 * 8 * 9 * 30,
            'gate': 5 * 8 * 30,
        }


class TestACmix:
    """Stage I: 3·C_in·C. Stage II: 2·k_att²·C; 3N·k²·D (fc) + k⁴·C (shift and sum)."""

    @pytest.mark.parametrize('composes', [True, False])
    def test_sliding_window(self, composes, monkeypatch):
        monkeypatch.setattr(ACmix, 'composes', composes)
        assert by_kind(ACmix(6, 8, num_heads=2), 3, 6, 5, 4) == {
            'ACmix I, projections': 3 * 20 * 3 * 6 * 8,
            'ACmix II, attention': 3 * 20 * 2 * 49 * 8,
            'ACmix II, convolution': 3 * 20 * (6 * 9 * 4 + 81 * 8),
        }

    def test_stride(self):
        found = by_kind(ACmix(8, 8, num_heads=2, stride=2), 1, 8, 5, 4)
        assert found['ACmix I, projections'] == 20 * 3 * 64
        assert found['ACmix II, attention'] == 6 * 2 * 49 * 8
        assert found['ACmix II, convolution'] == 20 * 6 * 9 * 4 + 6 * 81 * 8

    def test_reduced_keys(self):
        attention = dict(type='SpatialReductionAttention', reduction=2)
        found = by_kind(ACmix(8, 8, num_heads=2, attention=attention), 1, 8, 4, 6)
        assert found['ACmix I, projections'] == 64 * 24 + 2 * 64 * 6
        assert found['ACmix II, attention'] == 2 * 24 * 6 * 8 + 64 * 24 + 4 * 64 * 6

    def test_patchwise(self):
        attention = dict(type='PatchwiseAttention', kernel_size=3, share=4)
        layer = ACmix(16, 16, num_heads=4, qk_channels=4, attention=attention)
        found = by_kind(layer.eval(), 1, 16, 5, 5)
        assert found['ACmix I, projections'] == 25 * 16 * (4 + 4 + 16)
        assert found['ACmix II, attention'] == 25 * (40 * 4 + 9 * 16 + 9 * 16)
        assert found['ACmix II, convolution'] == 25 * (6 * 9 * 4 + 81 * 16)


class TestWhole:
    @pytest.mark.parametrize(
        'name', ['maskrcnn_acmix', 'retinanet_casvit', 'upernet_casvit']
    )
    def test_parts_sum_to_the_whole(self, name):
        model = build(load(f'mini/{name}.py'))
        found = complexity(name, model, (64, 96))
        parts = found.by_part.values()
        assert sum(p['multiply_adds'] for p in parts) == found.multiply_adds > 0
        assert sum(p['params'] for p in parts) == found.params
        assert found.peak > 0
        assert 'forward' not in vars(model.backbone)

    def test_two_stages_see_all_proposals(self):
        cfg = load('mini/maskrcnn_casvit.py')
        cfg.model.test_cfg.rpn.max_per_img = 20
        few = complexity('few', build(cfg), (64, 64))
        cfg.model.test_cfg.rpn.max_per_img = 40
        more = complexity('more', build(cfg), (64, 64))
        heads = [c.by_part['roi_head']['multiply_adds'] for c in (few, more)]
        assert heads[1] == 2 * heads[0]

    def test_without_data_or_weights_by_stage(self):
        found = complexity('swin', ACmixSwin('t', out_indices=(0, 1)), (56, 56))
        assert set(found.by_part) == {
            'stem',
            'stages.0',
            'stages.1',
            'norms.0',
            'norms.1',
        }
        assert found.by_part['stem']['multiply_adds'] == 48 * 96 * 14 * 14


def test_published_table():
    """Counted within 2 % of what is exact, 6 % where nothing was ever released."""
    rows = {row.name: row for row in published_table()}
    assert len(rows) == sum(len(family.archs) for family in FAMILIES)
    for name, row in rows.items():
        if name != 'acmix_swin_t':  # 30 M are published, the release has 28.65 M
            assert row.params == pytest.approx(row.published_params, rel=0.06), name
        if row.published_multiply_adds:
            published = row.published_multiply_adds
            assert row.multiply_adds == pytest.approx(published, rel=0.06), name
    assert rows['acmix_swin_t'].params == pytest.approx(28.65, rel=1e-3)
    assert rows['acmix_swin_s'].params == pytest.approx(50.35, rel=1e-3)


@pytest.mark.parametrize('make', [ACmixPVT, ACmixSAN])
def test_numbers_follow_the_size(make):
    small, large = (
        complexity('', make(out_indices=(0,)), size).by_kind
        for size in ((32, 32), (64, 64))
    )
    projections = 'ACmix I, projections'
    assert large[projections] == 4 * small[projections]
