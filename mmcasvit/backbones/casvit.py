"""CAS-ViT: convolutional additive self-attention vision transformer."""

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial

from mmcv.cnn import build_activation_layer
from torch import Tensor, nn

from ..checkpoints.casvit import RELEASE
from ..layers import INTEGRATIONS, ConvMlp, DropPath
from ..registry import MODELS, TOKEN_MIXERS, build_from, register
from .archs import CASVIT_ARCHS, NUM_STAGES, CASViTArch, find_arch
from .pyramid import Layer, PyramidBackbone, Stage, drop_path_rates, make_norm


class Block(nn.Module):
    """x ← x + integration(x); x ← x + mixer(norm1(x)); x ← x + mlp(norm2(x)).

    Args:
        dim: Channels C.
        mlp_ratio: Hidden width of the MLP over C.
        token_mixer: Config of the mixer in `TOKEN_MIXERS`.
        integration: 'release' or 'paper'.
        drop_path: Rate of stochastic depth; the integration's branch has none.
        norm_layer: Makes a norm from a channel count.
        act_layer: Makes the activation.

    Shape:
        input and output (B, C, H, W).

    Source:
        CAS-ViT, arXiv 2408.03703, Fig. 2.
    """

    def __init__(
        self,
        dim: int,
        mlp_ratio: float,
        token_mixer: dict,
        integration: str,
        drop_path: float,
        norm_layer: Layer,
        act_layer: Layer,
    ) -> None:
        super().__init__()
        self.integration = INTEGRATIONS[integration](dim, norm_layer, act_layer)
        self.norm1 = norm_layer(dim)
        self.token_mixer = build_from(
            TOKEN_MIXERS, token_mixer, dim=dim, norm_layer=norm_layer
        )
        self.norm2 = norm_layer(dim)
        self.mlp = ConvMlp(dim, int(dim * mlp_ratio), act_layer)
        self.drop_path = DropPath(drop_path)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.integration(x)
        x = x + self.drop_path(self.token_mixer(self.norm1(x)))
        return x + self.drop_path(self.mlp(self.norm2(x)))


class Downsample(nn.Sequential):
    """3×3 convolution of stride 2 → norm; an odd side rounds up.

    Args:
        in_dim, dim: Channels of input and output.
        norm_layer: Makes a norm from a channel count.

    Shape:
        input (B, in_dim, H, W), output (B, dim, ceil(H/2), ceil(W/2)).
    """

    def __init__(self, in_dim: int, dim: int, norm_layer: Layer) -> None:
        super().__init__()
        self.proj = nn.Conv2d(in_dim, dim, 3, stride=2, padding=1)
        self.norm = norm_layer(dim)


@register(MODELS)
class CASViT(PyramidBackbone):
    """CAS-ViT as a pyramid backbone.

    Args:
        arch: 'xs', 's', 'm', 't', or a dict of `CASViTArch`'s fields.
        in_channels: Channels of the picture.
        token_mixer: Config in `TOKEN_MIXERS`, or one config per stage.
        integration: 'release' (what the released weights need) or 'paper'.
        drop_path_rate: Rate of the last block; block i of n has rate·i/(n−1).
        out_indices, frozen_stages, norm_eval, init_cfg: See `PyramidBackbone`.
        with_cp: Activation checkpointing per block: less memory, one more forward.
        norm_cfg: Config of the norms. The release trains detection and segmentation
            with `norm_eval=True`.
        act_cfg: Config of the blocks' activation; the stem has ReLU.

    Shape:
        input (B, in_channels, H, W), any H, W ≥ 1 in eval mode; output: see
        `PyramidBackbone`.

    Raises:
        ValueError: If `arch`, `integration` or the number of mixers is unknown.

    Note:
        Multiply-adds at 224²: XS 0.55, S 0.91, M 1.86, T 3.56 G; linear in pixels.
        The release's state dicts load through a pre-hook, flat or under any prefix.

    Source:
        CAS-ViT, arXiv 2408.03703. Numerically the release's detection backbone.
    """

    release = RELEASE

    def __init__(
        self,
        arch: str | dict = 'm',
        in_channels: int = 3,
        token_mixer: dict | Sequence[dict] = dict(type='AdditiveTokenMixer'),
        integration: str = 'release',
        drop_path_rate: float = 0.0,
        out_indices: Sequence[int] = (0, 1, 2, 3),
        frozen_stages: int = -1,
        norm_eval: bool = False,
        with_cp: bool = False,
        norm_cfg: dict = dict(type='BN'),
        act_cfg: dict = dict(type='GELU'),
        init_cfg: dict | list[dict] | None = None,
    ) -> None:
        if integration not in INTEGRATIONS:
            raise ValueError(
                f'integration {integration!r} is unknown; known are '
                f'{sorted(INTEGRATIONS)}'
            )
        row = (
            find_arch(CASVIT_ARCHS, arch)
            if isinstance(arch, str)
            else CASViTArch(**{k: _as_tuple(v) for k, v in arch.items()})
        )
        norm_layer = partial(make_norm, norm_cfg)
        make_block = partial(
            Block,
            mlp_ratio=row.mlp_ratio,
            integration=integration,
            norm_layer=norm_layer,
            act_layer=partial(build_activation_layer, act_cfg),
        )
        mixers = _mixer_per_stage(token_mixer)
        rates = drop_path_rates(drop_path_rate, row.depths)
        dims = row.embed_dims
        stages = []
        for i, dim in enumerate(dims):
            downsample = (
                Downsample(dims[i - 1], dim, norm_layer) if i else nn.Identity()
            )
            blocks = [
                make_block(dim, token_mixer=mixers[i], drop_path=rate)
                for rate in rates[i]
            ]
            stages.append(Stage(downsample, blocks, with_cp))
        super().__init__(
            stem=_stem(in_channels, dims[0], norm_layer),
            stages=stages,
            stage_channels=dims,
            norms=[norm_layer(dim) for dim in dims],
            out_indices=out_indices,
            frozen_stages=frozen_stages,
            norm_eval=norm_eval,
            init_cfg=init_cfg,
        )


def _stem(in_channels: int, dim: int, norm_layer: Layer) -> nn.Sequential:
    """Twice 3×3 convolution of stride 2 → norm → ReLU; channels C1/2, then C1."""
    return nn.Sequential(
        OrderedDict(
            conv1=nn.Conv2d(in_channels, dim // 2, 3, stride=2, padding=1),
            norm1=norm_layer(dim // 2),
            act1=nn.ReLU(),
            conv2=nn.Conv2d(dim // 2, dim, 3, stride=2, padding=1),
            norm2=norm_layer(dim),
            act2=nn.ReLU(),
        )
    )


def _as_tuple(value: object) -> object:
    """Configs hold lists where an arch row holds tuples."""
    return tuple(value) if isinstance(value, list) else value


def _mixer_per_stage(token_mixer: dict | Sequence[dict]) -> list[dict]:
    if isinstance(token_mixer, dict):
        return [token_mixer] * NUM_STAGES
    if len(token_mixer) != NUM_STAGES:
        raise ValueError(
            f'token_mixer must be one config or {NUM_STAGES}, one per stage; got '
            f'{len(token_mixer)}'
        )
    return list(token_mixer)
