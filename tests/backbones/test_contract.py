"""What every pyramid backbone promises."""

import copy
import logging
import math

import pytest
import torch
from torch.nn.modules.batchnorm import _BatchNorm

from mmcasvit import ACmixPVT, ACmixResNet, ACmixSAN, ACmixSwin, CASViT
from mmcasvit.backbones import pyramid
from mmcasvit.backbones.archs import (
    ACMIX_PVT_ARCHS,
    ACMIX_RESNET_ARCHS,
    ACMIX_SAN_ARCHS,
    ACMIX_SWIN_ARCHS,
    CASVIT_ARCHS,
)

SMALL = dict(embed_dims=[8, 12, 16, 20], depths=[1, 2, 1, 1])
BACKBONES = {f'casvit_{arch}': (CASViT, dict(arch=arch)) for arch in CASVIT_ARCHS}
BACKBONES['casvit_small'] = (CASViT, dict(arch=SMALL))
for cls, archs, family in (
    (ACmixResNet, ACMIX_RESNET_ARCHS, 'acmix_resnet'),
    (ACmixSAN, ACMIX_SAN_ARCHS, 'acmix_san'),
):
    BACKBONES |= {f'{family}{depth}': (cls, dict(depth=depth)) for depth in archs}
for cls, archs, family in (
    (ACmixSwin, ACMIX_SWIN_ARCHS, 'acmix_swin'),
    (ACmixPVT, ACMIX_PVT_ARCHS, 'acmix_pvt'),
):
    BACKBONES |= {f'{family}_{arch}': (cls, dict(arch=arch)) for arch in archs}
# One of each family where the size of a variant does not matter.
FAMILIES = {
    'casvit': (CASViT, dict(arch=SMALL)),
    'acmix_resnet': (ACmixResNet, dict(depth=26, base_channels=8)),
    'acmix_swin': (ACmixSwin, dict(arch='t')),
    'acmix_pvt': (ACmixPVT, dict(arch='t')),
    'acmix_san': (ACmixSAN, dict(depth=10, dims=(32, 32, 64, 96, 128))),
}
RANDOM = {'casvit': dict(drop_path_rate=0.3)}
WITH_BATCH_NORM = ['acmix_resnet', 'acmix_san', 'casvit']


def randomise_norms(model):
    for m in model.modules():
        if isinstance(m, _BatchNorm):
            torch.nn.init.uniform_(m.running_mean, -0.2, 0.2)
            torch.nn.init.uniform_(m.running_var, 0.5, 1.5)
    return model


def build(family, **kwargs):
    cls, args = FAMILIES[family]
    torch.manual_seed(0)
    return randomise_norms(cls(**args, **kwargs))


@pytest.mark.parametrize('name', sorted(BACKBONES))
class TestPyramid:
    @pytest.mark.parametrize(
        'size', [(64, 64), (31, 45), (1, 1), (1, 70), (33, 2), (100, 50)]
    )
    def test_shapes(self, name, size):
        cls, args = BACKBONES[name]
        model = cls(**args).eval()
        with torch.no_grad():
            pyramid = model(torch.randn(1, 3, *size))
        assert isinstance(pyramid, tuple)
        assert model.strides == (4, 8, 16, 32)
        for out, channels, stride in zip(
            pyramid, model.out_channels, model.strides, strict=True
        ):
            sides = [math.ceil(side / stride) for side in size]
            assert out.shape == (1, channels, *sides)
            assert out.isfinite().all()

    def test_every_parameter_has_a_gradient(self, name):
        cls, args = BACKBONES[name]
        model = cls(**args, out_indices=(1, 2)).train()
        sum(out.square().sum() for out in model(torch.randn(2, 3, 64, 64))).backward()
        assert [n for n, p in model.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize('family', sorted(FAMILIES))
class TestContract:
    def test_out_indices(self, family):
        x = torch.randn(1, 3, 40, 56)
        whole, part = build(family).eval(), build(family, out_indices=(1, 3)).eval()
        part.load_state_dict(
            {k: v for k, v in whole.state_dict().items() if k in part.state_dict()}
        )
        wanted = whole(x)
        for got, index in zip(part(x), (1, 3), strict=True):
            torch.testing.assert_close(got, wanted[index])
        assert part.out_channels == (whole.out_channels[1], whole.out_channels[3])
        assert part.strides == (8, 32)

    def test_late_stages_are_not_built(self, family):
        assert len(build(family, out_indices=(0, 1)).stages) == 2

    @pytest.mark.parametrize('frozen', [-1, 0, 1, 2, 4])
    def test_frozen_stages(self, family, frozen):
        model = build(family, frozen_stages=frozen)
        assert model.train() is model
        before = copy.deepcopy(model.state_dict())
        out = model(torch.randn(2, 3, 64, 64).requires_grad_())
        sum(o.square().sum() for o in out).backward()
        parts = {'stem': 0, **{f'stages.{i}': i + 1 for i in range(4)}}
        if any(name.startswith('norms.') for name, _ in model.named_parameters()):
            parts['norms'] = 99
        for name, parameter in model.named_parameters():
            part = next(p for p in parts if name.startswith(f'{p}.'))
            should_freeze = parts[part] <= frozen
            assert parameter.requires_grad is not should_freeze
            assert (parameter.grad is None) is should_freeze
        torch.optim.SGD(model.parameters(), lr=1.0).step()
        changed = {
            part
            for part in parts
            for key, value in model.state_dict().items()
            if key.startswith(f'{part}.') and not torch.equal(value, before[key])
        }
        assert changed == {p for p, number in parts.items() if number > frozen}

    def test_checkpointing_equals_plain(self, family):
        random = RANDOM.get(family, {})
        plain = build(family, **random).train()
        cheap = build(family, **random, with_cp=True).train()
        x = torch.randn(2, 3, 64, 64)
        for model in (plain, cheap):
            torch.manual_seed(5)
            sum(o.square().mean() for o in model(x)).backward()
        for (name, a), b in zip(
            plain.named_parameters(), cheap.parameters(), strict=True
        ):
            torch.testing.assert_close(a.grad, b.grad, msg=name)
        for (name, a), b in zip(plain.named_buffers(), cheap.buffers(), strict=True):
            torch.testing.assert_close(a, b, msg=name)

    @pytest.mark.parametrize(
        ('dtype', 'tolerance'),
        [(torch.float64, 1e-5), (torch.float16, 0.02), (torch.bfloat16, 0.15)],
    )
    def test_dtypes(self, family, dtype, tolerance):
        model = build(family).eval()
        x = torch.randn(1, 3, 40, 56)
        with torch.no_grad():
            wanted = model(x)
            got = copy.deepcopy(model).to(dtype)(x.to(dtype))
        for a, b in zip(got, wanted, strict=True):
            assert a.dtype == dtype
            assert (a.float() - b).abs().max() < tolerance * b.abs().max()

    def test_autocast(self, family):
        model = build(family).train()
        with torch.autocast('cpu', torch.bfloat16):
            loss = sum(
                o.float().square().mean() for o in model(torch.randn(2, 3, 64, 64))
            )
        loss.backward()
        assert all(p.grad.isfinite().all() for p in model.parameters())

    def test_meta_device(self, family):
        cls, args = FAMILIES[family]
        with torch.device('meta'):
            model = cls(**args)
            out = model(torch.empty(2, 3, 65, 94))
        assert [o.shape[2:] for o in out] == [(17, 24), (9, 12), (5, 6), (3, 3)]

    def test_deep_copy_and_state_dict_round_trip(self, family):
        model = build(family).eval()
        twin = copy.deepcopy(model)
        twin.load_state_dict(model.state_dict(), strict=True)
        x = torch.randn(1, 3, 33, 40)
        for a, b in zip(model(x), twin(x), strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize('family', WITH_BATCH_NORM)
class TestNormEval:
    def test_keeps_statistics_and_trains_scale(self, family):
        model = build(family, norm_eval=True).train()
        before = {k: v.clone() for k, v in model.named_buffers()}
        out = model(torch.randn(2, 3, 64, 64))
        sum(o.square().sum() for o in out).backward()
        assert all(torch.equal(v, before[k]) for k, v in model.named_buffers())
        norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
        assert all(m.weight.grad is not None for m in norms)
        assert not any(m.training for m in norms)
        assert model.eval().train(False) is model

    def test_without_weights_warns_once(self, family, monkeypatch):
        said = []
        monkeypatch.setattr(
            pyramid, 'print_log', lambda text, **kwargs: said.append((text, kwargs))
        )
        build(family, norm_eval=True).train()
        assert said == []
        cls, args = FAMILIES[family]
        model = cls(**args, norm_eval=True)
        model.eval()
        assert said == []
        model.train()
        model.train()
        [(text, kwargs)] = said
        assert 'no weights were loaded' in text
        assert 'norm_eval=False' in text
        assert kwargs['level'] == logging.WARNING
