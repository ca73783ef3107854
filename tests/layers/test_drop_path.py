import pytest
import torch

from mmcasvit.layers import DropPath


def test_keeps_the_mean_and_whole_samples():
    drop = DropPath(0.25).train()
    out = drop(torch.ones(20000, 2, 1, 1))
    assert out.unique().tolist() == pytest.approx([0, 1 / 0.75])
    assert torch.equal(out[:, 0], out[:, 1])
    assert out.mean().item() == pytest.approx(1, abs=0.02)


def test_identity_in_eval_and_at_rate_zero():
    x = torch.randn(3, 4, 2, 2)
    assert DropPath(0.5).eval()(x) is x
    assert DropPath(0.0).train()(x) is x


@pytest.mark.parametrize('rate', [-0.1, 1.0])
def test_refuses_no_probability(rate):
    with pytest.raises(ValueError, match=r'must be in \[0, 1\)'):
        DropPath(rate)
