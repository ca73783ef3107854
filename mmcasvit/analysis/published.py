"""The papers' parameters and multiply-adds, beside those counted here."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import nn

from ..backbones import ACmixPVT, ACmixResNet, ACmixSAN, ACmixSwin, CASViT
from ..backbones.archs import (
    ACMIX_PVT_ARCHS,
    ACMIX_RESNET_ARCHS,
    ACMIX_SAN_ARCHS,
    ACMIX_SWIN_ARCHS,
    CASVIT_ARCHS,
)
from .complexity import count, num_params

SIZE = (224, 224)
CLASSES = 1000


@dataclass(frozen=True)
class Family:
    """Variants of one backbone, and the classifier its published figures include.

    Args:
        name: Shown in tables, before the variant.
        make: Builds a variant.
        archs: The variants' rows.
        heads: Linear classifiers.
        norm: Whether a norm of its own stands before them.
    """

    name: str
    make: Callable[..., nn.Module]
    archs: dict
    heads: int = 1
    norm: bool = False

    def classifier(self, dim: int) -> int:
        """Parameters of norm and classifiers on `dim` channels."""
        return self.heads * (dim + 1) * CLASSES + 2 * dim * self.norm


FAMILIES = (
    Family('casvit', CASViT, CASVIT_ARCHS, heads=2, norm=True),
    Family('acmix_resnet', ACmixResNet, ACMIX_RESNET_ARCHS),
    Family('acmix_san', ACmixSAN, ACMIX_SAN_ARCHS),
    Family('acmix_pvt', ACmixPVT, ACMIX_PVT_ARCHS, norm=True),
    Family('acmix_swin', ACmixSwin, ACMIX_SWIN_ARCHS, norm=True),
)


def arch_name(family: str, arch: str | int) -> str:
    """`acmix_resnet50`, `acmix_swin_t`: numbers stand close, letters apart."""
    return f'{family}{arch}' if isinstance(arch, int) else f'{family}_{arch}'


@dataclass(frozen=True)
class Row:
    """Published and counted figures of one variant, with the classifier.

    Args:
        name: The variant's.
        published_params, params: Millions.
        published_multiply_adds, multiply_adds: Billions at 224²; None where no paper
            says.
    """

    name: str
    published_params: float
    params: float
    published_multiply_adds: float | None
    multiply_adds: float


def published_table() -> Iterator[Row]:
    """Count every variant that a paper names."""
    picture = torch.randn(1, 3, *SIZE)
    for family in FAMILIES:
        for arch, row in family.archs.items():
            model = family.make(arch)
            found = count(model, [], picture)
            dim = model.out_channels[-1]
            # Norms of the pyramid's levels are no part of a classifier.
            body = num_params(model) - num_params(model.norms)
            params = body + family.classifier(dim)
            yield Row(
                arch_name(family.name, arch),
                row.params,
                params / 1e6,
                row.multiply_adds,
                (found.by_kind.total() + family.heads * dim * CLASSES) / 1e9,
            )
