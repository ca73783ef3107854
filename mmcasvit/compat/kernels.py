"""mmcv's compiled operators with torchvision's and PyTorch's kernels behind them.

Names, arguments and the writing into given outputs are those of `mmcv._ext`, so that
the autograd functions in `mmcv.ops` run on top unchanged. CPU and CUDA.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from .environment import HOW_TO_COMPILE, import_torchvision

_TINY = torch.finfo(torch.float32).tiny


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int) -> Tensor:
    """Indices of the boxes that non-maximum suppression keeps, best first.

    With offset 1 a side is x2 − x1 + 1 long; torchvision has no such kernel, so the
    overlaps are computed here, with mmcv's own float arithmetic.
    """
    if offset == 0:
        ops = import_torchvision().ops
        return ops.nms(*_same_float(boxes, scores), iou_threshold)
    order = scores.argsort(descending=True)
    kept = []
    while len(order):
        best, order = order[0], order[1:]
        kept.append(best)
        order = order[_overlaps(boxes[best], boxes[order], offset) <= iou_threshold]
    return torch.stack(kept) if kept else order


def softnms(
    boxes: Tensor,
    scores: Tensor,
    dets: Tensor,
    iou_threshold: float,
    sigma: float,
    min_score: float,
    method: int,
    offset: int,
) -> Tensor:
    """Soft-NMS: overlapping boxes lose score; returns indices, writes `dets`.

    Args:
        dets: Output, (N, 5) rows of x1, y1, x2, y2, score; the first rows are filled.
        method: 0 removes (score · 0), 1 is linear (1 − IoU), 2 Gaussian
            (exp(−IoU² / σ)).
    """
    left = torch.arange(len(boxes), device=boxes.device)
    scores = scores.clone()
    kept: list[Tensor] = []
    while len(left):
        best = scores[left].argmax()
        index = left[best].clone()
        dets[len(kept), :4] = boxes[index]
        dets[len(kept), 4] = scores[index]
        kept.append(index)
        # The compiled operator swaps the first box into the best one's place: where
        # scores tie, that order decides.
        left[best] = left[0]
        left = left[1:]
        iou = _overlaps(boxes[index], boxes[left], offset)
        if method == 2:
            decay = torch.exp(-(iou * iou) / sigma)
        else:
            lowered = torch.zeros_like(iou) if method == 0 else 1 - iou
            decay = torch.where(iou >= iou_threshold, lowered, torch.ones_like(iou))
        scores[left] = scores[left] * decay
        left = _swap_remove(left, scores[left] < min_score)
    return torch.stack(kept) if kept else left


def _swap_remove(items: Tensor, removed: Tensor) -> Tensor:
    """Drop items as the compiled loop does: the last takes a dropped one's place."""
    if not removed.any():
        return items
    order, drop = items.tolist(), removed.tolist()
    pos = 0
    while pos < len(order):
        if drop[pos]:
            order[pos], drop[pos] = order[-1], drop[-1]
            order.pop()
            drop.pop()
        else:
            pos += 1
    return items.new_tensor(order)


def _overlaps(box: Tensor, others: Tensor, offset: int) -> Tensor:
    """IoU of one box (4,) with others (N, 4), in their own precision."""
    sides = torch.minimum(box[2:], others[:, 2:]) - torch.maximum(
        box[:2], others[:, :2]
    )
    inter = (sides + offset).clamp(min=0).prod(1)
    area = (box[2:] - box[:2] + offset).prod()
    areas = (others[:, 2:] - others[:, :2] + offset).prod(1)
    return inter / (area + areas - inter)


def _same_float(*tensors: Tensor) -> list[Tensor]:
    """Half precisions to float32: torchvision wants one dtype, and boxes need it."""
    wide = torch.float64 if any(t.dtype == torch.float64 for t in tensors) else None
    return [t.to(wide or torch.float32) for t in tensors]


def roi_align_forward(
    input: Tensor,
    rois: Tensor,
    output: Tensor,
    argmax_y: Tensor,
    argmax_x: Tensor,
    aligned_height: int,
    aligned_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> None:
    """RoIAlign with average pooling; half precisions are computed in float32."""
    _need_average(pool_mode)
    features, boxes = _same_float(input, rois)
    pooled = import_torchvision().ops.roi_align(
        features,
        boxes,
        (aligned_height, aligned_width),
        spatial_scale,
        sampling_ratio,
        aligned,
    )
    output.copy_(pooled)


def roi_align_backward(
    grad_output: Tensor,
    rois: Tensor,
    argmax_y: Tensor,
    argmax_x: Tensor,
    grad_input: Tensor,
    aligned_height: int,
    aligned_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> None:
    """Gradient of RoIAlign with respect to the features."""
    _need_average(pool_mode)
    import_torchvision()
    grad, boxes = _same_float(grad_output, rois)
    grad_input.copy_(
        torch.ops.torchvision._roi_align_backward(
            grad,
            boxes,
            spatial_scale,
            aligned_height,
            aligned_width,
            *grad_input.shape,
            sampling_ratio,
            aligned,
        )
    )


def _need_average(pool_mode: int) -> None:
    if pool_mode != 1:
        raise NotImplementedError(
            "roi_align with pool_mode='max' has no torchvision kernel. Use "
            f"pool_mode='avg', or install mmcv's compiled operators: {HOW_TO_COMPILE}"
        )


def sigmoid_focal_loss_forward(
    input: Tensor,
    target: Tensor,
    weight: Tensor,
    output: Tensor,
    gamma: float,
    alpha: float,
) -> None:
    """FL(p_t) = −α_t (1 − p_t)^γ log p_t per logit (N, C); label C is background."""
    output.copy_(_sigmoid_focal(input, target, weight, gamma, alpha))


def sigmoid_focal_loss_backward(
    input: Tensor,
    target: Tensor,
    weight: Tensor,
    grad_input: Tensor,
    gamma: float,
    alpha: float,
) -> None:
    """Gradient of the summed sigmoid focal loss with respect to the logits."""

    def loss(logits: Tensor) -> Tensor:
        return _sigmoid_focal(logits, target, weight, gamma, alpha).sum()

    grad_input.copy_(gradients(loss, [input])[0])


def _sigmoid_focal(
    logits: Tensor, target: Tensor, weight: Tensor, gamma: float, alpha: float
) -> Tensor:
    classes = torch.arange(logits.shape[1], device=logits.device)
    positive = target[:, None] == classes  # (N, C)
    signed = torch.where(positive, logits, -logits)
    balance = torch.where(positive, alpha, 1 - alpha).to(logits.dtype)
    log_pt = torch.nn.functional.logsigmoid(signed)
    loss = -balance * torch.sigmoid(-signed) ** gamma * log_pt
    if weight.numel():
        padded = torch.cat([weight, weight.new_ones(1)])
        loss = loss * padded[target.clamp(max=len(weight))][:, None]
    return loss


def softmax_focal_loss_forward(
    input: Tensor,
    target: Tensor,
    weight: Tensor,
    output: Tensor,
    gamma: float,
    alpha: float,
) -> None:
    """FL = −α (1 − p)^γ log p per row; `input` (N, C) holds probabilities."""
    p = _picked(input, target)
    loss = -alpha * (1 - p) ** gamma * p.clamp(min=_TINY).log()
    output.copy_(_weighted(loss, target, weight))


def softmax_focal_loss_backward(
    input: Tensor,
    target: Tensor,
    weight: Tensor,
    buff: Tensor,
    grad_input: Tensor,
    gamma: float,
    alpha: float,
) -> None:
    """Gradient with respect to the logits: buff · (onehot − p), p = softmax."""
    p = _picked(input, target)
    slope = gamma * (1 - p) ** (gamma - 1) * p * p.clamp(min=_TINY).log()
    buff.copy_(_weighted(alpha * (slope - (1 - p) ** gamma), target, weight))
    onehot = torch.arange(input.shape[1], device=input.device) == target[:, None]
    grad_input.copy_(buff[:, None] * (onehot.to(input.dtype) - input))


def _picked(probabilities: Tensor, target: Tensor) -> Tensor:
    return probabilities.gather(1, target.clamp(min=0)[:, None])[:, 0]


def _weighted(values: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """Class weights on rows; a negative label counts nothing."""
    values = torch.where(target >= 0, values, torch.zeros_like(values))
    return values * weight[target.clamp(min=0)] if weight.numel() else values


def gradients(fn: Callable[..., Tensor], inputs: Sequence[Tensor]) -> tuple:
    """Gradients of a scalar function of `inputs`, outside any recorded graph."""
    with torch.enable_grad():
        leaves = [t.detach().requires_grad_() for t in inputs]
        return torch.autograd.grad(fn(*leaves), leaves)
