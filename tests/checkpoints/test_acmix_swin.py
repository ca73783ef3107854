import pytest
import torch
from fill import fill_tensor

from mmcasvit import ACmixPVT, ACmixSwin
from mmcasvit.checkpoints.acmix_pvt import RELEASE as PVT
from mmcasvit.checkpoints.acmix_swin import RELEASE as SWIN


@pytest.fixture(scope='module', params=['tiny', 'small'])
def released(request, swin_golden):
    """(arch, state dict) with the release's keys and shapes."""
    _, keys = swin_golden
    shapes = keys[f'acmix_swin_{request.param}']
    return request.param[0], {k: fill_tensor(k, s) for k, s in shapes.items()}


class TestSwin:
    def test_both_directions(self, released):
        arch, state = released
        ours = SWIN.to_ours(state)
        model = ACmixSwin(arch)
        assert ours.keys() == {
            k for k in model.state_dict() if not k.startswith('norms.')
        }
        back = SWIN.to_theirs(ours)
        body = {k for k in state if not k.startswith(('norm.', 'head.'))}
        assert back.keys() == body
        for key in body:
            assert back[key].shape == state[key].shape, key
            if not key.endswith(('attn_mask', 'relative_position_index')):
                assert torch.equal(back[key], state[key]), key

    def test_rebuilt_buffers(self, released):
        _, state = released
        back = SWIN.to_theirs(SWIN.to_ours(state))
        index = back['layers.0.blocks.0.attn.relative_position_index']
        assert index[24, 24] == 84
        assert index[0, 48] == 0
        mask = back['layers.1.blocks.1.attn_mask']
        assert mask[0].abs().max() == 0  # no seam in the first window
        assert set(mask[-1].unique().tolist()) == {-100.0, 0.0}
        # The lower right window: 4 × 4 pixels of one part, 3 × 3 of another.
        assert (mask[-1, 0] == 0).sum() == 16
        assert (mask[-1, 48] == 0).sum() == 9

    @pytest.mark.parametrize('prefix', ['', 'module.', 'backbone.'])
    def test_loads_strictly_under_a_prefix(self, released, prefix):
        arch, state = released
        model = ACmixSwin(arch)
        model.load_state_dict({prefix + k: v for k, v in state.items()}, strict=True)
        qkv = state['layers.2.blocks.3.attn.qkv.weight']
        k = model.stages[2].blocks[3].acmix.k.weight[:, :, 0, 0]
        assert torch.equal(k, qkv[384:768])

    def test_a_plain_swin_fills_all_but_the_convolution_paths(self, released):
        arch, state = released
        new = ('.fc.', '.dep_conv.', '.rate')
        plain = {
            k: v
            for k, v in state.items()
            if '.attn.' not in k or not any(part in k for part in new)
        }
        model = ACmixSwin(arch)
        shift = model.stages[0].blocks[0].acmix.shift.weight.clone()
        model.load_state_dict(plain, strict=True)
        assert torch.equal(model.stages[0].blocks[0].acmix.shift.weight, shift)


def test_plain_pvt_fills_all_but_the_convolution_paths():
    model = ACmixPVT('t')
    theirs = PVT.to_theirs(model.state_dict())
    assert theirs['pos_embed1'].shape == (1, 56 * 56, 64)
    assert theirs['block1.0.attn.kv.weight'].shape == (128, 64)
    new = ('.fc.', '.shift.', '.alpha', '.beta')
    plain = {
        k: torch.randn_like(v)
        for k, v in theirs.items()
        if '.attn.' not in k or not any(part in k for part in new)
    }
    plain['cls_token'] = torch.zeros(1, 1, 512)
    plain['pos_embed4'] = torch.randn(1, 50, 512)
    twin = ACmixPVT('t')
    twin.load_state_dict(plain, strict=True)
    assert torch.equal(
        twin.stages[3].downsample[1].weight[0, :, 0, 1], plain['pos_embed4'][0, 2]
    )
    assert torch.equal(
        twin.stages[0].blocks[1].acmix.v.bias, plain['block1.1.attn.kv.bias'][64:]
    )


def test_pvt_round_trip():
    state = ACmixPVT('t').state_dict()
    back = PVT.to_ours(PVT.to_theirs(state))
    assert back.keys() == state.keys()
    assert all(torch.equal(back[k], v) for k, v in state.items())
