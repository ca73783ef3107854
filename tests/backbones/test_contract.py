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

ARCHS = {
    f'{family}_{arch}': (cls, {argument: arch})
    for family, cls, argument, archs in (
        ('casvit', CASViT, 'arch', CASVIT_ARCHS),
        ('acmix_resnet', ACmixResNet, 'depth', ACMIX_RESNET_ARCHS),
        ('acmix_san', ACmixSAN, 'depth', ACMIX_SAN_ARCHS),
        ('acmix_swin', ACmixSwin, 'arch', ACMIX_SWIN_ARCHS),
        ('acmix_pvt', ACmixPVT, 'arch', ACMIX_PVT_ARCHS),
    )
    for arch in archs
}
ARCHS['casvit_of_dict'] = (
    CASViT,
    dict(arch=dict(embed_dims=[8, 12, 16, 20], depths=[1, 2, 1, 1])),
)
SMALLEST = (
    'casvit_of_dict',
    'acmix_resnet_26',
    'acmix_san_10',
    'acmix_swin_t',
    'acmix_pvt_t',
)
# Batch norm makes a batch's pictures depend on one another.
WITH_BATCH_NORM = [
    name for name in ARCHS if name.startswith(('casvit', 'acmix_resnet', 'acmix_san'))
]


def randomise_norms(model):
    for m in model.modules():
        if isinstance(m, _BatchNorm):
            torch.nn.init.uniform_(m.running_mean, -0.2, 0.2)
            torch.nn.init.uniform_(m.running_var, 0.5, 1.5)
    return model


def build(arch, **kwargs):
    cls, args = ARCHS[arch]
    torch.manual_seed(0)
    return randomise_norms(cls(**args, **kwargs))


@pytest.mark.parametrize('arch', ARCHS)
class TestContract:
    @pytest.mark.parametrize(
        'size', [(64, 64), (31, 45), (1, 1), (1, 70), (33, 2), (100, 50)]
    )
    def test_shapes(self, arch, size):
        model = build(arch).eval()
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

    def test_every_parameter_has_a_gradient(self, arch):
        model = build(arch, out_indices=(1, 2)).train()
        sum(out.square().sum() for out in model(torch.randn(2, 3, 64, 64))).backward()
        assert [n for n, p in model.named_parameters() if p.grad is None] == []

    def test_out_indices(self, arch):
        x = torch.randn(1, 3, 40, 56)
        whole, part = build(arch).eval(), build(arch, out_indices=(1, 3)).eval()
        part.load_state_dict(
            {k: v for k, v in whole.state_dict().items() if k in part.state_dict()}
        )
        wanted = whole(x)
        for got, index in zip(part(x), (1, 3), strict=True):
            torch.testing.assert_close(got, wanted[index])
        assert part.out_channels == (whole.out_channels[1], whole.out_channels[3])
        assert part.strides == (8, 32)

    def test_late_stages_are_not_built(self, arch):
        assert len(build(arch, out_indices=(0, 1)).stages) == 2

    @pytest.mark.parametrize('frozen', [-1, 0, 1, 2, 4])
    def test_frozen_stages(self, arch, frozen):
        model = build(arch, frozen_stages=frozen)
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

    def test_checkpointing_equals_plain(self, arch):
        random = dict(drop_path_rate=0.3) if arch.startswith('casvit') else {}
        plain = build(arch, **random).train()
        cheap = build(arch, **random, with_cp=True).train()
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
    def test_dtypes(self, arch, dtype, tolerance):
        model = build(arch).eval()
        x = torch.randn(1, 3, 40, 56)
        with torch.no_grad():
            wanted = model(x)
            got = copy.deepcopy(model).to(dtype)(x.to(dtype))
        for a, b in zip(got, wanted, strict=True):
            assert a.dtype == dtype
            assert (a.float() - b).abs().max() < tolerance * b.abs().max()

    def test_autocast(self, arch):
        model = build(arch).train()
        with torch.autocast('cpu', torch.bfloat16):
            loss = sum(
                o.float().square().mean() for o in model(torch.randn(2, 3, 64, 64))
            )
        loss.backward()
        assert all(p.grad.isfinite().all() for p in model.parameters())

    def test_meta_device(self, arch):
        cls, args = ARCHS[arch]
        with torch.device('meta'):
            model = cls(**args)
            out = model(torch.empty(2, 3, 65, 94))
        assert [o.shape[2:] for o in out] == [(17, 24), (9, 12), (5, 6), (3, 3)]

    def test_export(self, arch):
        model = build(arch).eval()
        x = torch.randn(1, 3, 40, 56)
        program = torch.export.export(model, (x,)).module()
        x = torch.randn(1, 3, 40, 56)
        with torch.no_grad():
            for got, wanted in zip(program(x), model(x), strict=True):
                torch.testing.assert_close(got, wanted)

    def test_compile(self, arch):
        """One graph, traced and split for autograd; code would need a compiler."""
        model = build(arch).double().eval()
        compiled = torch.compile(model, backend='aot_eager', fullgraph=True)
        x = torch.randn(1, 3, 40, 56, dtype=torch.double)
        learns = arch in SMALLEST  # all variants of a family have the same layers
        results = []
        for run in (model, compiled):
            with torch.set_grad_enabled(learns):
                results.append([*run(x)])
            if learns:
                loss = sum(o.square().mean() for o in results[-1])
                results[-1] += torch.autograd.grad(loss, [*model.parameters()])
        torch._dynamo.reset()
        for got, wanted in zip(*reversed(results), strict=True):
            torch.testing.assert_close(got, wanted)

    def test_deep_copy_and_state_dict_round_trip(self, arch):
        model = build(arch).eval()
        twin = copy.deepcopy(model)
        twin.load_state_dict(model.state_dict(), strict=True)
        x = torch.randn(1, 3, 33, 40)
        for a, b in zip(model(x), twin(x), strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize('arch', WITH_BATCH_NORM)
class TestNormEval:
    def test_keeps_statistics_and_trains_scale(self, arch):
        model = build(arch, norm_eval=True).train()
        before = {k: v.clone() for k, v in model.named_buffers()}
        out = model(torch.randn(2, 3, 64, 64))
        sum(o.square().sum() for o in out).backward()
        assert all(torch.equal(v, before[k]) for k, v in model.named_buffers())
        norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
        assert all(m.weight.grad is not None for m in norms)
        assert not any(m.training for m in norms)
        assert model.eval().train(False) is model

    def test_without_weights_warns_once(self, arch, monkeypatch):
        said = []
        monkeypatch.setattr(
            pyramid, 'print_log', lambda text, **kwargs: said.append((text, kwargs))
        )
        build(arch, norm_eval=True).train()
        assert said == []
        cls, args = ARCHS[arch]
        model = cls(**args, norm_eval=True)
        model.eval()
        assert said == []
        model.train()
        model.train()
        [(text, kwargs)] = said
        assert 'no weights were loaded' in text
        assert 'norm_eval=False' in text
        assert kwargs['level'] == logging.WARNING
