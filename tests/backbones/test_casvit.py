import pytest
import torch
from fill import fill_input, fill_tensor

from mmcasvit import CASViT
from mmcasvit.backbones.archs import CASVIT_ARCHS, CASViTArch
from mmcasvit.checkpoints.casvit import RELEASE

ARCHS = sorted(CASVIT_ARCHS)


def release_state(keys, name):
    return {key: fill_tensor(key, shape) for key, shape in keys[name].items()}


def golden_model(keys, arch):
    model = CASViT(arch)
    model.load_state_dict(release_state(keys, f'casvit_{arch}'), strict=True)
    return model


def relative_error(got, wanted):
    wanted = torch.as_tensor(wanted)
    return float((got - wanted).abs().max() / wanted.abs().max())


class TestGolden:
    """Against what the release computes for the same weights and inputs."""

    @pytest.mark.parametrize(
        ('level', 'channel_step'), [(0, 6), (1, 4), (2, 1), (3, 1)]
    )
    def test_xs_maps(self, casvit_golden, level, channel_step):
        arrays, keys = casvit_golden
        model = golden_model(keys, 'xs').eval()
        with torch.no_grad():
            out = model(fill_input((1, 3, 65, 94)))[level]
        wanted = arrays[f'casvit_xs_{level}']
        assert relative_error(out[:, ::channel_step], wanted) < 1e-5

    @pytest.mark.parametrize('arch', ['s', 'm', 't'])
    def test_statistics(self, casvit_golden, arch):
        arrays, keys = casvit_golden
        model = golden_model(keys, arch).eval()
        with torch.no_grad():
            pyramid = model(fill_input((1, 3, 65, 94)))
        for i, out in enumerate(pyramid):
            name = f'casvit_{arch}_{i}'
            assert list(out.shape) == arrays[f'{name}_shape'].tolist()
            mean, std = out.mean((0, 2, 3)), out.std((0, 2, 3), unbiased=False)
            assert relative_error(mean, arrays[f'{name}_channel_mean']) < 1e-5
            assert relative_error(std, arrays[f'{name}_channel_std']) < 1e-5

    def test_xs_training(self, casvit_golden):
        arrays, keys = casvit_golden
        model = golden_model(keys, 'xs').train()
        x = fill_input((2, 3, 65, 94), seed=7).requires_grad_()
        pyramid = model(x)
        loss = sum(
            (out * fill_input(out.shape, seed=200 + i)).mean()
            for i, out in enumerate(pyramid)
        )
        loss.backward()
        assert loss.item() == pytest.approx(
            float(arrays['casvit_xs_train_loss']), rel=1e-5
        )
        norm = float(arrays['casvit_xs_train_grad_input_norm'])
        assert x.grad.norm().item() == pytest.approx(norm, rel=1e-5)
        for i, out in enumerate(pyramid):
            mean = arrays[f'casvit_xs_train_{i}_channel_mean']
            # Batch norms give means of zero and the bias: absolute, in units of std 1.
            assert (out.mean((0, 2, 3)) - torch.as_tensor(mean)).abs().max() < 1e-5

        wanted = dict(
            zip(
                keys['casvit_xs_train_grad_norms'],
                arrays['casvit_xs_train_grad_norms'].tolist(),
                strict=True,
            )
        )
        largest = max(wanted.values())
        got = {
            RELEASE.key_map.inverse()(name): parameter.grad.norm().item()
            for name, parameter in model.named_parameters()
        }
        assert got.keys() == wanted.keys()
        # A bias in front of a batch norm has no gradient but rounding noise.
        for name, norm in got.items():
            assert norm == pytest.approx(wanted[name], rel=2e-4, abs=1e-6 * largest)


@pytest.mark.parametrize('arch', ARCHS)
def test_parameters_match_the_published_count(casvit_golden, arch):
    _, keys = casvit_golden
    published = CASVIT_ARCHS[arch].params
    heads = keys[f'casvit_{arch}_classification']
    count = sum(
        torch.Size(shape).numel()
        for key, shape in heads.items()
        if not key.endswith(('running_mean', 'running_var', 'num_batches_tracked'))
    )
    assert count / 1e6 == pytest.approx(published, abs=0.005)
    body = sum(
        p.numel() for n, p in CASViT(arch).named_parameters() if 'norms.' not in n
    )
    of_heads = sum(
        torch.Size(shape).numel()
        for key, shape in heads.items()
        if key.startswith(('norm.weight', 'norm.bias', 'head', 'dist_head'))
    )
    assert body == count - of_heads


@pytest.mark.parametrize('arch', ARCHS)
def test_deep_arguments(arch):
    row = CASVIT_ARCHS[arch]
    model = CASViT(arch, drop_path_rate=0.1)
    rates = [b.drop_path.rate for stage in model.stages for b in stage.blocks]
    assert len(rates) == sum(row.depths)
    step = 0.1 / (len(rates) - 1)
    assert rates == pytest.approx([i * step for i in range(len(rates))])


class TestArguments:
    def test_arch_as_dict(self):
        arch = dict(embed_dims=[8, 16, 24, 32], depths=[1, 1, 1, 1], mlp_ratio=2.0)
        model = CASViT(arch)
        assert model.out_channels == (8, 16, 24, 32)
        assert model.stages[0].blocks[0].mlp.fc1.out_channels == 16

    def test_one_mixer_per_stage(self):
        mixers = [dict(type='AdditiveTokenMixer')] * 4
        assert CASViT('xs', token_mixer=mixers).state_dict().keys() == (
            CASViT('xs').state_dict().keys()
        )

    def test_paper_integration_has_three_depthwise_convs(self):
        block = CASViT('xs', integration='paper').stages[0].blocks[0]
        convs = [
            m for m in block.integration.modules() if isinstance(m, torch.nn.Conv2d)
        ]
        assert [(c.kernel_size, c.groups) for c in convs] == [((3, 3), 48)] * 3
        x = torch.randn(2, 48, 9, 7)
        assert block(x).shape == x.shape

    def test_sync_bn_and_another_activation(self):
        model = CASViT('xs', norm_cfg=dict(type='SyncBN'), act_cfg=dict(type='ReLU'))
        norms = [m for m in model.modules() if isinstance(m, torch.nn.SyncBatchNorm)]
        assert len(norms) == 59
        assert not any(isinstance(m, torch.nn.GELU) for m in model.modules())
        assert len(model.eval()(torch.randn(1, 3, 32, 32))) == 4

    @pytest.mark.parametrize(
        ('kwargs', 'message'),
        [
            (
                dict(arch='xl'),
                r"arch 'xl' is unknown; known are \['m', 's', 't', 'xs'\]",
            ),
            (dict(integration='both'), "integration 'both' is unknown"),
            (dict(token_mixer=[dict(type='AdditiveTokenMixer')]), 'one config or 4'),
            (
                dict(arch=dict(embed_dims=[8, 8], depths=[1] * 4)),
                'embed_dims must be 4',
            ),
            (dict(drop_path_rate=1.0), r'in \[0, 1\)'),
            (dict(out_indices=(0, 4)), r'ascending stage numbers in 0…3'),
            (dict(out_indices=(2, 1)), 'ascending'),
            (dict(out_indices=()), 'ascending'),
            (dict(frozen_stages=5), 'frozen_stages must be -1'),
        ],
    )
    def test_wrong_ones_are_named(self, kwargs, message):
        with pytest.raises(ValueError, match=message):
            CASViT(**{'arch': 'xs', **kwargs})

    def test_typos_are_not_swallowed(self):
        with pytest.raises(TypeError, match='frozen_stage'):
            CASViT('xs', frozen_stage=1)


def test_odd_stem_width_is_refused():
    with pytest.raises(ValueError, match='must be even'):
        CASViTArch((7, 8, 8, 8), (1, 1, 1, 1))
