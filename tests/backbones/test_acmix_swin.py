import pytest
import torch
from fill import fill_input, fill_tensor
from torch import nn

from mmcasvit import ACmixSwin


def relative_error(got, wanted):
    wanted = torch.as_tensor(wanted)
    return float((got - wanted).abs().max() / wanted.abs().max())


@pytest.fixture(scope='module', params=['tiny', 'small'])
def golden_run(request, swin_golden):
    """(name, arrays, maps before their norms) for the golden weights and input."""
    arrays, keys = swin_golden
    name = f'acmix_swin_{request.param}'
    model = ACmixSwin(request.param[0]).eval()
    state = {key: fill_tensor(key, shape) for key, shape in keys[name].items()}
    model.load_state_dict(state, strict=True)
    model.norms = nn.ModuleDict({str(i): nn.Identity() for i in range(4)})
    with torch.no_grad():
        return name, arrays, model(fill_input((1, 3, 224, 224)))


class TestGolden:
    """Against what the release computes for the same weights and inputs."""

    def test_statistics(self, golden_run):
        name, arrays, pyramid = golden_run
        for i, out in enumerate(pyramid):
            mean, std = out.mean((0, 2, 3)), out.std((0, 2, 3), unbiased=False)
            wanted = arrays[f'{name}_{i}_channel_mean']
            assert relative_error(mean[::4], wanted) < 1e-5
            assert relative_error(std[::4], arrays[f'{name}_{i}_channel_std']) < 1e-5

    @pytest.mark.parametrize('golden_run', ['tiny'], indirect=True)
    def test_last_map(self, golden_run):
        name, arrays, pyramid = golden_run
        tokens = pyramid[3].flatten(2).transpose(1, 2)
        assert relative_error(tokens[:, :, ::64], arrays[f'{name}_3']) < 1e-5


def test_unknown_arch():
    with pytest.raises(ValueError, match="arch 'b' is unknown; known are"):
        ACmixSwin('b')
