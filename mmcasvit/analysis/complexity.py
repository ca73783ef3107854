"""Parameters, multiply-adds and peak activations of backbones, detectors, segmentors.

Convention: a multiply-add is one; counted are convolutions, linear layers, products of
matrices, attention, and gates (the product of two maps, one a point). Norms, sums,
activations, pooling and resizing are not. ACmix counts as its paper does: stage I are
the projections, stage II the attention over k_att² neighbours and the convolution path
as fc, shift and sum, however they are computed here.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, sdpa_flop_count

from .benchmark import Measurement, Subject, peak_memory

aten = torch.ops.aten
_CONVOLUTIONS = (aten.convolution, aten._convolution)
_ATTENTIONS = tuple(
    getattr(aten, name)
    for name in (
        '_scaled_dot_product_flash_attention_for_cpu',
        '_scaled_dot_product_flash_attention',
        '_scaled_dot_product_efficient_attention',
        '_scaled_dot_product_cudnn_attention',
    )
    if hasattr(aten, name)
)
_PRODUCTS = (aten.mm, aten.addmm, aten.bmm, aten.baddbmm)


@dataclass
class Complexity:
    """What a model costs at one size.

    Args:
        name: The model's.
        size: H, W of the picture.
        params: Number of parameters.
        by_kind: Multiply-adds by kind of operator.
        by_part: Parameters and multiply-adds by part of the model.
        peak: Peak bytes allocated in a forward pass beyond weights and picture.
    """

    name: str
    size: tuple[int, int]
    params: int
    by_kind: dict[str, int]
    by_part: dict[str, dict[str, int]] = field(default_factory=dict)
    peak: int = 0

    @property
    def multiply_adds(self) -> int:
        """Of all kinds together."""
        return sum(self.by_kind.values())

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dict(vars(self), multiply_adds=self.multiply_adds)


class MultiplyAdds(TorchDispatchMode):
    """Counts the multiply-adds of what runs inside, by kind and by part.

    A module with `multiply_adds(height, width)` is asked for its own, in place of what
    it runs.

    Args:
        model: Module whose parts are told apart.
        parts: Their names in `model.named_modules()`.
    """

    def __init__(self, model: nn.Module, parts: list[str]) -> None:
        super().__init__()
        self.by_kind: Counter[str] = Counter()
        self.by_part: Counter[str] = Counter()
        self._model, self._parts = model, parts
        self._at: list[str] = []
        self._silent = False
        self._wrapped: list[nn.Module] = []

    def __enter__(self) -> 'MultiplyAdds':
        # Not hooks: hosts call some modules' `forward` directly.
        for name, module in self._model.named_modules():
            if hasattr(module, 'multiply_adds'):
                self._wrap(module, self._asked(module))
            elif name in self._parts:
                self._wrap(module, self._at_part(name))
        return super().__enter__()

    def __exit__(self, *args: Any) -> None:
        for module in self._wrapped:
            del module.forward
        super().__exit__(*args)

    def _wrap(self, module: nn.Module, around: Callable) -> None:
        forward = module.forward

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with around(*args):
                return forward(*args, **kwargs)

        module.forward = wrapped
        self._wrapped.append(module)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        if not self._silent:
            kind, count = _cost(func._overloadpacket, args, kwargs or {}, out)
            self._add(kind, count)
        return out

    def _asked(self, module: nn.Module) -> Callable:
        @contextmanager
        def around(x: Tensor, *_: Any) -> Iterator[None]:
            outer = self._silent
            if not outer:
                for kind, count in module.multiply_adds(*x.shape[2:]).items():
                    self._add(kind, len(x) * count)
            self._silent = True
            yield
            self._silent = outer

        return around

    def _at_part(self, name: str) -> Callable:
        @contextmanager
        def around(*_: Any) -> Iterator[None]:
            self._at.append(name)
            yield
            self._at.pop()

        return around

    def _add(self, kind: str, count: int) -> None:
        if count:
            self.by_kind[kind] += count
            self.by_part[self._at[-1] if self._at else ''] += count


def _cost(packet: Any, args: tuple, kwargs: dict, out: Any) -> tuple[str, int]:
    """Kind and multiply-adds of one operator; zero for what is not counted."""
    if packet in _ATTENTIONS:
        q, k, v = (x.shape for x in args[:3])
        return 'attention', sdpa_flop_count(q, k, v) // 2
    if packet is aten.mul and all(isinstance(x, Tensor) and x.ndim > 2 for x in args):
        return 'gate', out.numel()
    if packet in _CONVOLUTIONS:
        kind = 'convolution' if args[1].shape[1] > 1 else 'depthwise convolution'
    elif packet in _PRODUCTS:
        kind = 'linear' if packet in (aten.mm, aten.addmm) else 'matrix product'
    else:
        return '', 0
    return kind, flop_registry[packet](*args, **kwargs, out_val=out) // 2


def complexity(name: str, model: nn.Module, size: tuple[int, int]) -> Complexity:
    """Count what one forward pass costs for one picture of random values.

    Args:
        name: Shown with the result.
        model: A backbone, or a detector or segmentor of mmdet or mmseg.
        size: H, W.
    """
    parts, x = parts_of(model), torch.randn(1, 3, *size)
    counted = count(model, parts, x)
    with fixed_proposals(model):
        peak = peak_memory(Subject(name, lambda: _maps(model(x)), [x]), train=False)
    by_part = {
        part: dict(
            params=num_params(model.get_submodule(part)),
            multiply_adds=counted.by_part[part],
        )
        for part in parts
    }
    return Complexity(
        name, tuple(size), num_params(model), dict(counted.by_kind), by_part, peak
    )


def count(model: nn.Module, parts: list[str], x: Tensor) -> MultiplyAdds:
    """Multiply-adds of model(x) in eval mode, `parts` told apart."""
    model.eval()
    with torch.no_grad(), fixed_proposals(model), MultiplyAdds(model, parts) as counted:
        model(x)
    return counted


def add_costs(subjects: Sequence[Subject], results: Sequence[Measurement]) -> None:
    """Write the parameters and multiply-adds of modules into their measurements."""
    for subject, result in zip(subjects, results, strict=True):
        if subject.module is not None:
            counted = MultiplyAdds(subject.module, [])
            # Without trials of kernels, which may be none that can be looked into.
            with torch.no_grad(), torch.backends.cudnn.flags(enabled=True), counted:
                subject.run()
            result.params = num_params(subject.module)
            result.multiply_adds = counted.by_kind.total()


def parts_of(model: nn.Module) -> list[str]:
    """The model's children; of a backbone stem and each stage."""
    found = []
    for name, child in model.named_children():
        stages = isinstance(child, nn.ModuleList | nn.ModuleDict)
        inner = [f'{name}.{n}' for n, _ in child.named_children()] if stages else [name]
        found += [n for n in inner if num_params(model.get_submodule(n))]
    return found


@contextmanager
def fixed_proposals(model: nn.Module) -> Iterator[None]:
    """Give a two-stage detector as many proposals as it takes at most.

    With random weights their number would be an accident.
    """
    if not hasattr(model, 'roi_head'):
        yield
        return
    from mmengine.structures import InstanceData

    rpn, count = model.rpn_head, model.test_cfg.rpn.max_per_img

    def predict(x: tuple[Tensor, ...], *_: Any, **__: Any) -> list[InstanceData]:
        rpn(x)
        height, width = (4 * side for side in x[0].shape[2:])
        # From the smallest objects to the whole picture: all levels get some.
        scale = torch.linspace(0.02, 1, count)[:, None]
        boxes = scale * torch.tensor([[0.0, 0.0, width, height]])
        return [
            InstanceData(bboxes=boxes, scores=scale[:, 0], labels=scale[:, 0].long())
        ]

    rpn.predict = predict
    try:
        yield
    finally:
        del rpn.predict


def _maps(out: Any) -> list[Tensor]:
    """All tensors in what a model gives."""
    if isinstance(out, Tensor):
        return [out]
    return (
        [x for part in out for x in _maps(part)]
        if isinstance(out, tuple | list)
        else []
    )


def num_params(module: nn.Module) -> int:
    """Number of a module's parameters."""
    return sum(p.numel() for p in module.parameters())
