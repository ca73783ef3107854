import json
import re

import pytest
import torch
from torch import nn

from mmcasvit.analysis import benchmark
from mmcasvit.analysis.benchmark import Subject, as_json, measure, peak_memory
from mmcasvit.analysis.complexity import add_costs
from mmcasvit.analysis.subjects import Setting, backbones, make_subject, operators
from mmcasvit.analysis.table import print_growth, print_results

MIB = 2**20
SETTING = Setting((32, 40), batch=2, channels=16)


def allocating(name, mib):
    """A subject whose peak is known: two buffers at a time, then one."""
    x = torch.ones(1, requires_grad=True)

    def run():
        first = torch.empty(mib * MIB // 4)
        second = torch.empty(mib * MIB // 4)
        del first
        third = torch.empty(mib * MIB // 8)
        del second, third
        return x * 2

    return Subject(name, run, [x])


def test_peak_memory_is_what_lives_at_one_time():
    assert peak_memory(allocating('a', 4), train=False) == pytest.approx(8 * MIB, 0.01)


def test_training_keeps_activations():
    module = nn.Sequential(*(nn.Sequential(nn.Conv2d(8, 8, 1), nn.GELU()),) * 6)
    subject = Subject.of('deep', module, torch.randn(1, 8, 64, 64))
    forward, train = (peak_memory(subject, train) for train in (False, True))
    one_map = 8 * 64 * 64 * 4
    assert forward <= 3 * one_map
    assert train > 6 * one_map


def test_runs_alternate(monkeypatch):
    order = []

    def subject(name):
        x = torch.ones(1, requires_grad=True)
        return Subject(name, lambda: order.append(name) or x * 2, [x])

    clock = iter(range(1000))
    monkeypatch.setattr(benchmark.time, 'perf_counter', lambda: next(clock) ** 2)
    monkeypatch.setattr(benchmark, 'peak_memory', lambda s, train: 10 * len(s.name))
    seen = []

    def progress(runs):
        for run in runs:
            seen.append(run)
            yield run

    a, b = measure([subject('a'), subject('bb')], False, runs=3, progress=progress)
    assert order == ['a', 'bb'] * 4
    assert seen == [0, 1, 2, 3]
    # The clock's n-th reading is n²: run r of the first takes (4r+1)² − (4r)² = 8r + 1.
    assert a.seconds == [9, 17, 25]
    assert (a.median, b.median) == (17, 21)
    assert (a.ratio, b.ratio) == (1, 21 / 17)
    assert (a.memory, b.memory, b.memory_ratio) == (10, 20, 2)


def test_training_reaches_all_inputs():
    touched = []
    module = nn.Linear(3, 3)
    for name, parameter in module.named_parameters():
        parameter.register_hook(lambda _, name=name: touched.append(name))
    measure([Subject.of('linear', module, torch.randn(2, 3))], True, runs=1, warmup=0)
    assert set(touched) == {'weight', 'bias'}
    touched.clear()
    measure([Subject.of('linear', module, torch.randn(2, 3))], False, runs=1)
    assert touched == []


def test_nothing_to_measure():
    with pytest.raises(ValueError, match='0 subjects'):
        measure([], False, runs=1)


# FlexAttention's gradients and NATTEN's kernels exist on GPUs only.
ON_GPUS = {'attention_flex', 'attention_natten'}


@pytest.mark.parametrize('name', sorted(operators().keys() - ON_GPUS))
@pytest.mark.parametrize('train', [False, True])
def test_operators_run(name, train):
    [result] = measure([make_subject(name, SETTING)], train, runs=1, warmup=0)
    assert result.median > 0
    assert result.memory > 0
    json.dumps(as_json([result]))


@pytest.mark.parametrize(
    ('fast', 'slow'),
    [
        ('acmix', 'acmix_unfold'),
        ('attention', 'attention_unfold'),
        ('window', 'window_masked'),
        ('global', 'global_whole'),
        ('patchwise', 'patchwise_unfold'),
    ],
)
def test_rivals_compute_the_same(fast, slow):
    torch.manual_seed(0)
    a = make_subject(fast, SETTING)
    torch.manual_seed(0)
    b = make_subject(slow, SETTING)
    torch.testing.assert_close(a.run(), b.run(), rtol=1e-4, atol=1e-5)


def test_every_backbone_is_there():
    assert {'casvit_xs', 'acmix_resnet50', 'resnet50'} <= backbones().keys()
    out = make_subject('casvit_xs', SETTING).run()
    assert [o.shape[2:] for o in out][:2] == [(8, 10), (4, 5)]


def test_a_configs_backbone(request):
    path = request.config.rootpath / 'configs' / 'mini' / 'maskrcnn_acmix.py'
    subject = make_subject(str(path), SETTING)
    assert subject.name == 'maskrcnn_acmix'
    assert subject.run()[0].shape[1] == 96


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"'resnet51' is no config file.*conv3x3"):
        make_subject('resnet51', SETTING)


def test_table(capsys):
    results = measure([allocating('a', 1), allocating('b', 2)], False, runs=1)
    print_results('forward', results, batch=4)
    text = capsys.readouterr().out
    assert '÷ a' in text
    assert '4.0 MiB' in text
    assert '2.00' in text


def test_costs_of_a_pixel(capsys):
    """A quadratic mixer's grow with the map, a linear one's do not."""
    sizes, results = [(4, 4), (8, 8)], []
    for size in sizes:
        setting = Setting(size, channels=16)
        subjects = [make_subject(name, setting) for name in ('conv1x1', 'global')]
        subjects += [make_subject('self_attention', setting)]
        results.append(measure(subjects, False, runs=1, warmup=0))
        add_costs(subjects, results[-1])
    for (conv, bare, attention), (height, width) in zip(results, sizes, strict=True):
        pixels = height * width
        assert (conv.params, conv.multiply_adds) == (16 * 17, 256 * pixels)
        assert bare.multiply_adds is None
        assert attention.multiply_adds == pixels * (4 * 256 + 2 * pixels * 16)
    print_growth('forward', sizes, results)
    text = capsys.readouterr().out
    assert '4×4' in text
    assert re.search(r'conv1x1 *│ *256 │ *256 ', text)
    assert re.search(r'self_attention *│ *1,536 │ *3,072 ', text)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason='needs a GPU')
def test_cuda():
    setting = Setting((32, 40), device=torch.device('cuda'), dtype=torch.float16)
    [result] = measure([make_subject('acmix', setting)], True, runs=2)
    assert result.memory > 0
