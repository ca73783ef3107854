"""The variant tables: one frozen row per published model, checked when built."""

from dataclasses import dataclass
from typing import TypeVar

NUM_STAGES = 4
Name = TypeVar('Name', str, int)
Row = TypeVar('Row')


@dataclass(frozen=True)
class CASViTArch:
    """A CAS-ViT variant.

    Args:
        embed_dims: Channels of the four stages.
        depths: Blocks of the four stages.
        mlp_ratio: Hidden width of the MLP over its input width.
        params: Published parameters in millions, both classification heads included.
        multiply_adds: Published billions at 224²; the release names none.
        weights_id: Google Drive file of the release's ImageNet weights.

    Source:
        CAS-ViT, arXiv 2408.03703, Table 1, and the release's model zoo.
    """

    embed_dims: tuple[int, ...]
    depths: tuple[int, ...]
    mlp_ratio: float = 4.0
    params: float | None = None
    multiply_adds: float | None = None
    weights_id: str | None = None

    def __post_init__(self) -> None:
        check_per_stage('embed_dims', self.embed_dims)
        check_per_stage('depths', self.depths)
        if self.embed_dims[0] % 2:
            raise ValueError(
                f'embed_dims[0] must be even (the stem halves it), got '
                f'{self.embed_dims[0]}'
            )


def check_per_stage(name: str, values: tuple[int, ...]) -> None:
    """Raise ValueError unless `values` are four positive integers."""
    if len(values) != NUM_STAGES or any(
        not isinstance(v, int) or v < 1 for v in values
    ):
        raise ValueError(
            f'{name} must be {NUM_STAGES} positive integers, one per stage, '
            f'got {values!r}'
        )


CASVIT_ARCHS: dict[str, CASViTArch] = {
    'xs': CASViTArch(
        (48, 56, 112, 220),
        (2, 2, 4, 2),
        params=3.20,
        weights_id='16wKcwF6QMW5w_lyPYnDKjMNuoxQDfrLK',
    ),
    's': CASViTArch(
        (48, 64, 128, 256),
        (3, 3, 6, 3),
        params=5.76,
        weights_id='1facFRq8s8oelYUtK1fj3fcfdoWoKDBQQ',
    ),
    'm': CASViTArch(
        (64, 96, 192, 384),
        (3, 3, 6, 3),
        params=12.42,
        weights_id='13sQpSEf0h_uuh0jRy9V0yIW6ZsbDpVGy',
    ),
    't': CASViTArch(
        (96, 128, 256, 512),
        (3, 3, 6, 3),
        params=21.76,
        weights_id='1NqoIUPbwBC91RTjTUvubAbOfGqo1VYT0',
    ),
}


@dataclass(frozen=True)
class ACmixResNetArch:
    """An ACmix-ResNet variant.

    Args:
        depths: Blocks of the four stages.
        params, multiply_adds: Published, millions and billions at 224², with the head.

    Source:
        ACmix, arXiv 2111.14556, Table 2; the figures are those of the release's README.
    """

    depths: tuple[int, ...]
    params: float | None = None
    multiply_adds: float | None = None

    def __post_init__(self) -> None:
        check_per_stage('depths', self.depths)


ACMIX_RESNET_ARCHS: dict[int, ACmixResNetArch] = {
    26: ACmixResNetArch((1, 2, 4, 1), params=10.6, multiply_adds=2.3),
    38: ACmixResNetArch((2, 3, 5, 2), params=14.6, multiply_adds=2.9),
    50: ACmixResNetArch((3, 4, 6, 3), params=18.6, multiply_adds=3.6),
}


@dataclass(frozen=True)
class ACmixTransformerArch:
    """A variant of a transformer with stages: ACmix-Swin or ACmix-PVT.

    Args:
        embed_dims: Channels of the four stages.
        depths: Blocks of the four stages.
        num_heads: Heads in each stage.
        mlp_ratios: Hidden width of the MLPs over their input width, in each stage.
        params, multiply_adds: Published, millions and billions at 224², with the head.

    Source:
        ACmix, arXiv 2111.14556, Table 2, and the release's README; bodies of Swin,
        arXiv 2103.14030, and PVT, arXiv 2102.12122.
    """

    embed_dims: tuple[int, ...]
    depths: tuple[int, ...]
    num_heads: tuple[int, ...]
    mlp_ratios: tuple[int, ...] = (4, 4, 4, 4)
    params: float | None = None
    multiply_adds: float | None = None

    def __post_init__(self) -> None:
        for name in ('embed_dims', 'depths', 'num_heads', 'mlp_ratios'):
            check_per_stage(name, getattr(self, name))


_SWIN = (96, 192, 384, 768), (3, 6, 12, 24)
ACMIX_SWIN_ARCHS: dict[str, ACmixTransformerArch] = {
    't': ACmixTransformerArch(
        _SWIN[0], (2, 2, 6, 2), _SWIN[1], params=30, multiply_adds=4.6
    ),
    's': ACmixTransformerArch(
        _SWIN[0], (2, 2, 18, 2), _SWIN[1], params=51, multiply_adds=9.0
    ),
}

_PVT = (64, 128, 320, 512), (1, 2, 5, 8), (8, 8, 4, 4)
ACMIX_PVT_ARCHS: dict[str, ACmixTransformerArch] = {
    't': ACmixTransformerArch(
        _PVT[0], (2, 2, 2, 2), *_PVT[1:], params=13, multiply_adds=2.0
    ),
    's': ACmixTransformerArch(
        _PVT[0], (3, 4, 6, 3), *_PVT[1:], params=25, multiply_adds=3.9
    ),
}


@dataclass(frozen=True)
class ACmixSANArch:
    """An ACmix-SAN variant.

    Args:
        depths: Blocks at strides 2, 4, 8, 16 and 32.
        params, multiply_adds: Published, millions and billions at 224², with the head.

    Source:
        ACmix, arXiv 2111.14556, Table 2; bodies of SAN, arXiv 2004.13621, Table 1.
    """

    depths: tuple[int, ...]
    params: float | None = None
    multiply_adds: float | None = None

    def __post_init__(self) -> None:
        check_per_stage('depths', self.depths[1:])


ACMIX_SAN_ARCHS: dict[int, ACmixSANArch] = {
    10: ACmixSANArch((2, 1, 2, 4, 1), params=12.1, multiply_adds=1.9),
    15: ACmixSANArch((3, 2, 3, 5, 2), params=16.6, multiply_adds=2.7),
    19: ACmixSANArch((3, 3, 4, 6, 3), params=21.2, multiply_adds=3.4),
}


def find_arch(archs: dict[Name, Row], arch: Name) -> Row:
    """Return the row named `arch`.

    Raises:
        ValueError: If there is none; the message lists those that exist.
    """
    if arch not in archs:
        raise ValueError(f'arch {arch!r} is unknown; known are {sorted(archs)}')
    return archs[arch]
