"""What can be benchmarked by name: operators, backbones, a config's backbone."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
from mmengine.config import Config
from mmengine.model import revert_sync_batchnorm
from mmengine.registry import init_default_scope
from torch import Tensor, nn

from ..backbones import ACmixResNet
from ..backbones.archs import ACMIX_RESNET_ARCHS
from ..layers import (
    ACmix,
    AdditiveTokenMixer,
    MultiHeadSelfAttention,
    SeparableSelfAttention,
    SwiftAttention,
)
from ..ops import (
    footprint_linear,
    footprint_sum,
    global_attention,
    local_attention,
    window_attention,
)
from ..ops.reference import (
    acmix_unfold,
    footprint_linear_unfold,
    footprint_sum_unfold,
    global_attention_whole,
    local_attention_unfold,
    window_attention_masked,
)
from ..registry import MODELS
from .benchmark import Subject
from .published import FAMILIES, arch_name


@dataclass(frozen=True)
class Setting:
    """At what subjects are measured.

    Args:
        size: H, W: of the picture for backbones, of the map for operators.
        batch: Pictures at a time.
        channels: C of operators.
        num_heads: Heads of operators.
        device, dtype: Where and in which precision.
    """

    size: tuple[int, int]
    batch: int = 1
    channels: int = 64
    num_heads: int = 4
    device: torch.device = field(default_factory=lambda: torch.device('cpu'))
    dtype: torch.dtype = torch.float32

    def map(self, channels: int) -> Tensor:
        """A random map (B, channels, H, W), channels last."""
        shape = self.batch, channels, *self.size
        x = torch.randn(shape, device=self.device, dtype=self.dtype)
        return x.contiguous(memory_format=torch.channels_last)

    def place(self, module: nn.Module) -> nn.Module:
        """A module where and as maps are."""
        return module.to(self.device, self.dtype, memory_format=torch.channels_last)


class Patchwise:
    """SAN's attention of 7×7 windows on fixed random weights, norms left out.

    Args:
        channels: C of all maps; 8 of them share a weight.
        linear, total: `footprint_linear` and `footprint_sum`, or their twins.
    """

    taps, share = 7**2, 8

    def __init__(
        self,
        channels: int,
        linear: Callable[..., Tensor],
        total: Callable[..., Tensor],
    ) -> None:
        self.linear, self.total = linear, total
        hidden = channels // self.share
        self.scale = torch.rand(1 + self.taps, channels)
        self.offset = torch.zeros_like(self.scale)
        self.first = torch.randn(1 + self.taps, channels, hidden) / channels**0.5
        self.second = torch.randn(self.taps, hidden, hidden) / self.taps
        self.bias = torch.zeros(self.taps, hidden)

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, _: int) -> Tensor:
        parts = [x.to(q) for x in (self.scale, self.offset, self.first)]
        own = self.linear(q, *(part[:1] for part in parts))
        near = self.linear(k, *(part[1:] for part in parts))
        return self.total((own + near).relu(), self.second.to(q), self.bias.to(q), v)


class Textbook(nn.Module):
    """The textbook ACmix on a layer's parameters and contiguous maps."""

    def __init__(self, layer: ACmix) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        layer = self.layer
        parts = dict(layer.named_parameters())
        return acmix_unfold(
            x.contiguous(), parts, layer.num_heads, layer.attention.kernel_size
        )


def _attention(
    name: str, setting: Setting, operator: Callable[..., Tensor], last: bool = True
) -> Subject:
    maps = [setting.map(setting.channels).requires_grad_() for _ in range(3)]
    if not last:
        maps = [x.detach().contiguous().requires_grad_() for x in maps]
    return Subject(name, lambda: operator(*maps, setting.num_heads), maps)


def _patchwise(
    name: str,
    setting: Setting,
    linear: Callable[..., Tensor],
    total: Callable[..., Tensor],
    last: bool = True,
) -> Subject:
    return _attention(name, setting, Patchwise(setting.channels, linear, total), last)


def _module(
    name: str,
    setting: Setting,
    make: Callable[[], nn.Module],
    channels: int | None = None,
) -> Subject:
    # Norms use their running statistics, in the forward pass and the training step.
    module = setting.place(revert_sync_batchnorm(make())).eval()
    return Subject.of(name, module, setting.map(channels or setting.channels))


def operators() -> dict[str, Callable[[str, Setting], Subject]]:
    """Operators on C channels: name → maker."""

    def layer(make: Callable[[int, int], nn.Module]) -> Callable[..., Subject]:
        return lambda name, s: _module(name, s, lambda: make(s.channels, s.num_heads))

    def acmix(channels: int, heads: int) -> ACmix:
        return ACmix(channels, channels, num_heads=heads)

    return {
        'conv1x1': layer(lambda c, _: nn.Conv2d(c, c, 1)),
        'conv3x3': layer(lambda c, _: nn.Conv2d(c, c, 3, padding=1)),
        'acmix': layer(acmix),
        'acmix_unfold': layer(lambda c, heads: Textbook(acmix(c, heads))),
        'attention': partial(_attention, operator=local_attention),
        **{
            f'attention_{name}': partial(
                _attention, operator=partial(local_attention, implementation=name)
            )
            for name in ('tiles', 'flex', 'natten')
        },
        'attention_unfold': partial(
            _attention, operator=local_attention_unfold, last=False
        ),
        'window': partial(
            _attention, operator=partial(window_attention, window_size=7)
        ),
        'window_masked': partial(
            _attention, operator=partial(window_attention_masked, window_size=7)
        ),
        'global': partial(_attention, operator=global_attention),
        'global_whole': partial(_attention, operator=global_attention_whole),
        'patchwise': partial(_patchwise, linear=footprint_linear, total=footprint_sum),
        'patchwise_unfold': partial(
            _patchwise,
            linear=footprint_linear_unfold,
            total=footprint_sum_unfold,
            last=False,
        ),
        'additive': layer(lambda c, _: AdditiveTokenMixer(c)),
        'self_attention': layer(MultiHeadSelfAttention),
        'separable': layer(lambda c, _: SeparableSelfAttention(c)),
        'swift': layer(lambda c, _: SwiftAttention(c)),
    }


def backbones() -> dict[str, Callable[[], nn.Module]]:
    """Backbones with random weights: name → maker."""
    made = {
        arch_name(family.name, arch): partial(family.make, arch)
        for family in FAMILIES
        for arch in family.archs
    }
    plain = dict(stages_with_acmix=(False,) * 4)
    return made | {
        f'resnet{depth}': partial(ACmixResNet, depth, **plain)
        for depth in ACMIX_RESNET_ARCHS
    }


def is_config(name: str) -> bool:
    """Whether `name` is a config file that exists."""
    return name.endswith('.py') and Path(name).is_file()


def make_model(name: str) -> nn.Module:
    """Build a backbone by name, or the whole model of a config file, random weights.

    Raises:
        ValueError: If the name is unknown; the message lists those known.
    """
    if name in backbones():
        return backbones()[name]()
    if is_config(name):
        cfg = Config.fromfile(name)
        init_default_scope(cfg.get('default_scope', 'mmengine'))
        cfg.model.backbone.pop('init_cfg', None)
        return revert_sync_batchnorm(MODELS.build(cfg.model))
    raise ValueError(
        f'{name!r} is no config file and not one of the backbones {sorted(backbones())}'
    )


def make_subject(name: str, setting: Setting) -> Subject:
    """Build what `name` means.

    Args:
        name: An operator, a backbone, or a config file, whose backbone is taken.
        setting: At what it is to be measured.

    Raises:
        ValueError: If the name is unknown; the message lists those known.
    """
    if name in operators():
        return operators()[name](name, setting)
    if name in backbones():
        return _module(name, setting, backbones()[name], channels=3)
    if is_config(name):
        backbone = Config.fromfile(name).model.backbone
        backbone.pop('init_cfg', None)
        return _module(
            Path(name).stem, setting, partial(MODELS.build, backbone), channels=3
        )
    raise ValueError(
        f'{name!r} is no config file and not one of the operators '
        f'{sorted(operators())} or backbones {sorted(backbones())}'
    )
