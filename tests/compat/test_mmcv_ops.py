"""torchvision's kernels behind mmcv.ops, against mmcv's compiled ones."""

import importlib
import subprocess
import sys
from importlib.machinery import ModuleSpec

import pytest
import torch
from mmcv import ops
from torchvision.ops import sigmoid_focal_loss

from mmcasvit.compat import mmcv_ops


class TestGolden:
    @pytest.mark.parametrize('offset', [0, 1])
    def test_nms(self, mmcv_golden, offset):
        boxes, scores = mmcv_golden['boxes'], mmcv_golden['scores']
        dets, keep = ops.nms(boxes, scores, 0.5, offset=offset)
        wanted = mmcv_golden[f'nms_iou0.5_offset{offset}_keep']
        assert torch.equal(keep, wanted)
        assert torch.equal(dets, torch.cat([boxes, scores[:, None]], 1)[wanted])

    def test_batched_nms(self, mmcv_golden):
        _, keep = ops.batched_nms(
            mmcv_golden['boxes'],
            mmcv_golden['scores'],
            mmcv_golden['ids'],
            dict(type='nms', iou_threshold=0.6),
        )
        assert torch.equal(keep, mmcv_golden['batched_nms_0.6_keep'])

    @pytest.mark.parametrize('method', ['naive', 'linear', 'gaussian'])
    def test_soft_nms(self, mmcv_golden, method):
        dets, keep = ops.soft_nms(
            mmcv_golden['boxes'], mmcv_golden['scores'], 0.3, 0.5, 1e-3, method
        )
        assert torch.equal(keep, mmcv_golden[f'soft_nms_{method}_keep'])
        wanted = mmcv_golden[f'soft_nms_{method}_dets']
        torch.testing.assert_close(dets, wanted, rtol=1e-6, atol=1e-6)

    @pytest.mark.parametrize(('ratio', 'aligned'), [(0, True), (2, False)])
    def test_roi_align(self, mmcv_golden, ratio, aligned):
        x = mmcv_golden['feat'].clone().requires_grad_()
        out = ops.roi_align(x, mmcv_golden['rois'], 7, 1 / 16, ratio, 'avg', aligned)
        out.backward(mmcv_golden['roi_grad'])
        name = f'roi_align_avg_sr{ratio}_aligned{aligned}'
        assert torch.equal(out, mmcv_golden[name])
        assert torch.equal(x.grad, mmcv_golden[f'{name}_grad'])

    def test_deform_conv(self, mmcv_golden):
        g = mmcv_golden
        out = ops.deform_conv2d(g['dcn_x'], g['dcn_offset'], g['dcn_w'], 1, 1)
        torch.testing.assert_close(out, g['deform_conv_out'], rtol=1e-5, atol=1e-5)

    def test_modulated_deform_conv(self, mmcv_golden):
        g = mmcv_golden
        names = ('dcn_x', 'dcn_offset', 'dcn_mask', 'dcn_w', 'dcn_bias')
        out = ops.modulated_deform_conv2d(*(g[n] for n in names), 1, 1)
        wanted = g['modulated_deform_conv_out']
        torch.testing.assert_close(out, wanted, rtol=1e-5, atol=1e-5)


class TestGradients:
    def test_deform_conv(self):
        x = torch.randn(2, 4, 5, 6, dtype=torch.double, requires_grad=True)
        offset = torch.randn(2, 36, 3, 3, dtype=torch.double, requires_grad=True)
        weight = torch.randn(6, 2, 3, 3, dtype=torch.double, requires_grad=True)
        assert torch.autograd.gradcheck(
            lambda *a: ops.deform_conv2d(*a, 2, 1, 1, 2, 2), (x, offset, weight)
        )

    @pytest.mark.parametrize('bias', [True, False])
    def test_modulated_deform_conv(self, bias):
        shapes = [(2, 4, 4, 5), (2, 18, 4, 5), (2, 9, 4, 5), (6, 4, 3, 3)]
        inputs = [
            torch.randn(s, dtype=torch.double, requires_grad=True) for s in shapes
        ]
        if bias:
            inputs.append(torch.randn(6, dtype=torch.double, requires_grad=True))

        def conv(*args):
            full = args if bias else (*args, None)
            return ops.modulated_deform_conv2d(*full, 1, 1)

        assert torch.autograd.gradcheck(conv, inputs)

    @pytest.mark.parametrize('weighted', [True, False])
    def test_focal_losses(self, weighted):
        logits = torch.randn(9, 5, dtype=torch.double, requires_grad=True)
        weight = torch.rand(5, dtype=torch.double) if weighted else None
        with_background = torch.tensor([0, 1, 2, 3, 4, 5, 5, 1, 0])
        assert torch.autograd.gradcheck(
            lambda x: ops.sigmoid_focal_loss(
                x, with_background, 2.0, 0.25, weight, 'sum'
            ),
            logits,
        )
        labels = with_background.clamp(max=4)
        assert torch.autograd.gradcheck(
            lambda x: ops.softmax_focal_loss(x, labels, 2.0, 0.25, weight, 'mean'),
            logits,
        )


def test_focal_losses_are_the_formula():
    logits = torch.randn(50, 7, dtype=torch.double)
    labels = torch.randint(0, 8, (50,))
    got = ops.sigmoid_focal_loss(logits, labels, 2.0, 0.25, None, 'none')
    onehot = torch.nn.functional.one_hot(labels, 8)[:, :7].double()
    torch.testing.assert_close(got, sigmoid_focal_loss(logits, onehot, 0.25, 2.0))

    labels = labels.clamp(max=6)
    p = logits.softmax(1)[torch.arange(50), labels]
    weight = torch.rand(7, dtype=torch.double)
    wanted = -0.25 * (1 - p) ** 2 * p.log() * weight[labels]
    got = ops.softmax_focal_loss(logits.clone(), labels, 2.0, 0.25, weight, 'none')
    torch.testing.assert_close(got, wanted)


def test_soft_nms_like_the_textbook():
    """Gaussian decay, one box at a time, with scores that never tie."""
    boxes = torch.rand(30, 4) * 50
    boxes[:, 2:] += boxes[:, :2] + 5
    scores = torch.rand(30)
    dets, keep = ops.soft_nms(
        boxes, scores, sigma=0.5, min_score=0.2, method='gaussian'
    )
    left, decayed, wanted = list(range(30)), scores.tolist(), []
    while left:
        best = max(left, key=lambda i: decayed[i])
        left.remove(best)
        wanted.append(best)
        for i in left:
            x1, y1 = torch.maximum(boxes[i, :2], boxes[best, :2]).tolist()
            x2, y2 = torch.minimum(boxes[i, 2:], boxes[best, 2:]).tolist()
            inter = max(0.0, x2 - x1) * max(0.0, y2 - y1)
            areas = [float((boxes[j, 2:] - boxes[j, :2]).prod()) for j in (i, best)]
            iou = inter / (sum(areas) - inter)
            decayed[i] *= float(torch.exp(torch.tensor(-(iou**2) / 0.5)))
        left = [i for i in left if decayed[i] >= 0.2]
    assert keep.tolist() == wanted
    assert dets[:, 4].tolist() == pytest.approx([decayed[i] for i in wanted], rel=1e-5)


@pytest.mark.parametrize('dtype', [torch.float16, torch.bfloat16])
def test_roi_align_in_half_precision_keeps_the_boxes_exact(dtype):
    x = torch.randn(1, 8, 100, 100)
    rois = torch.tensor([[0, 1001.3, 1003.7, 1101.9, 1144.2]])
    wanted = ops.roi_align(x.to(dtype).float(), rois, 7, 1 / 16, 0, 'avg', True)
    got = ops.roi_align(x.to(dtype), rois, 7, 1 / 16, 0, 'avg', True)
    assert got.dtype == dtype
    torch.testing.assert_close(got, wanted.to(dtype))


def test_nothing_to_do():
    nothing = torch.zeros(0, 4), torch.zeros(0)
    for offset in (0, 1):
        assert len(ops.nms(*nothing, 0.5, offset=offset)[1]) == 0
    assert len(ops.soft_nms(*nothing)[1]) == 0
    assert ops.roi_align(torch.randn(1, 2, 8, 8), torch.zeros(0, 5), 7).shape[0] == 0


class TestModule:
    def test_max_pooling_says_what_to_do(self):
        with pytest.raises(NotImplementedError, match="pool_mode='avg'"):
            ops.roi_align(torch.randn(1, 2, 8, 8), torch.ones(1, 5), 7, 1.0, 0, 'max')

    def test_other_operators_name_themselves(self):
        with pytest.raises(NotImplementedError, match="'nms_rotated'.*pip install"):
            ops.nms_rotated(torch.rand(3, 5), torch.rand(3), 0.5)

    def test_has_a_spec(self):
        assert isinstance(sys.modules[mmcv_ops.NAME].__spec__, ModuleSpec)
        assert importlib.util.find_spec(mmcv_ops.NAME) is not None

    def test_has_no_foreign_attributes(self):
        assert not hasattr(sys.modules[mmcv_ops.NAME], '__path__')

    def test_never_replaces_a_compiled_module(self, monkeypatch):
        compiled = type(sys)(mmcv_ops.NAME)
        monkeypatch.setitem(sys.modules, mmcv_ops.NAME, compiled)
        assert mmcv_ops.install() is False
        assert sys.modules[mmcv_ops.NAME] is compiled

    def test_says_once_that_it_serves(self, monkeypatch):
        said = []
        monkeypatch.setattr(mmcv_ops, 'print_log', lambda text, **_: said.append(text))
        ext = mmcv_ops.TorchvisionExt('none found')
        assert said == []
        for _ in range(2):
            ext.nms(torch.rand(3, 4), torch.rand(3), iou_threshold=0.5, offset=0)
        [text] = said
        assert 'none found' in text
        assert 'mmcasvit.compat.mmcv_ops' in text


def test_same_as_compiled_operators():
    """Where mmcv has compiled operators, ask them too, in a fresh process."""
    probe = (
        'import importlib.util as u, sys, mmcv;'
        'sys.exit(0 if u.find_spec("mmcv._ext") else 3)'
    )
    if subprocess.run([sys.executable, '-c', probe], check=False).returncode == 3:
        pytest.skip('this mmcv has no compiled operators')
    script = """
import torch
from mmcv import _ext
from mmcasvit.compat import kernels
boxes = torch.rand(300, 4) * 40
boxes[:, 2:] += boxes[:, :2]
scores = torch.rand(300)
for offset in (0, 1):
    a = _ext.nms(boxes, scores, iou_threshold=0.5, offset=offset)
    b = kernels.nms(boxes, scores, iou_threshold=0.5, offset=offset)
    assert torch.equal(a, b)
"""
    subprocess.run([sys.executable, '-c', script], check=True)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason='no CUDA device')
class TestCuda:
    @pytest.mark.parametrize('offset', [0, 1])
    def test_nms(self, mmcv_golden, offset):
        _, keep = ops.nms(
            mmcv_golden['boxes'].cuda(),
            mmcv_golden['scores'].cuda(),
            0.5,
            offset=offset,
        )
        assert torch.equal(keep.cpu(), mmcv_golden[f'nms_iou0.5_offset{offset}_keep'])

    def test_roi_align(self, mmcv_golden):
        x = mmcv_golden['feat'].cuda().requires_grad_()
        out = ops.roi_align(x, mmcv_golden['rois'].cuda(), 7, 1 / 16, 0, 'avg', True)
        out.backward(mmcv_golden['roi_grad'].cuda())
        name = 'roi_align_avg_sr0_alignedTrue'
        torch.testing.assert_close(out.cpu(), mmcv_golden[name])
        torch.testing.assert_close(x.grad.cpu(), mmcv_golden[f'{name}_grad'])
