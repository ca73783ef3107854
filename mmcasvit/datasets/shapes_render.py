"""Drawing for the embedded data: outlines, shading, textures, backgrounds."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

CLASSES = ('ball', 'box', 'triangle', 'star', 'ring', 'cross')
SUPERSAMPLE = 4

Image = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Sprite:
    """A drawn object before it is put into a picture.

    Args:
        mask: Silhouette at `SUPERSAMPLE` times the picture's resolution.
        alpha: Coverage per pixel, (h, w) in [0, 1].
        color: (h, w, 3) in [0, 255].
    """

    mask: Mask
    alpha: Image
    color: Image


def draw_object(rng: np.random.Generator, name: str, size: float) -> Sprite:
    """Draw an object of a class: random pose, color, texture and shading.

    Args:
        rng: Source of all randomness.
        name: One of `CLASSES`.
        size: Longest side in pixels, before rotation.
    """
    mask = _silhouette(rng, name, size)
    alpha = _coverage(mask)
    height = _bevel(mask, width=0.5 if name in ('ball', 'ring') else 0.12)
    base = _random_color(rng)
    texture = _object_texture(rng, alpha.shape)
    light = _lambert(rng, height)
    color = base * texture[..., None] * light[..., None]
    return Sprite(mask, alpha, np.clip(color, 0, 255).astype(np.float32))


def draw_stick(rng: np.random.Generator, size: float) -> Sprite:
    """Draw a bent stick: a thing that belongs to no class."""
    side = int(np.ceil(size)) + 2
    points = rng.uniform(0.05, 0.95, (3, 2)) * side * SUPERSAMPLE
    canvas = np.zeros((side * SUPERSAMPLE,) * 2, np.uint8)
    width = int(max(SUPERSAMPLE, rng.uniform(0.03, 0.08) * side * SUPERSAMPLE))
    cv2.polylines(canvas, [points.astype(np.int32)], False, 1, width)
    mask = canvas.astype(bool)
    alpha = _coverage(mask)
    color = np.broadcast_to(_random_color(rng), (*alpha.shape, 3))
    return Sprite(mask, alpha, color.astype(np.float32))


def draw_background(rng: np.random.Generator, height: int, width: int) -> Image:
    """Draw a textured surface: stains of two sizes, a pattern, uneven light."""
    image = np.broadcast_to(_random_color(rng), (height, width, 3)).copy()
    for cells, strength in ((4, 40), (16, 20)):
        tint = rng.uniform(0.4, 1, 3)
        image += _smooth_noise(rng, height, width, cells)[..., None] * strength * tint
    image *= _pattern(rng, height, width)[..., None]
    slope = rng.uniform(-0.25, 0.25, 2)
    y, x = np.mgrid[-0.5 : 0.5 : height * 1j, -0.5 : 0.5 : width * 1j]
    return (image * (1 + slope[0] * y + slope[1] * x)[..., None]).astype(np.float32)


def develop(rng: np.random.Generator, image: Image) -> NDArray[np.uint8]:
    """Turn a drawn picture into a photo: slight blur, noise, eight bits."""
    if rng.random() < 0.3:
        image = cv2.GaussianBlur(image, (0, 0), rng.uniform(0.4, 0.9))
    noisy = image + rng.normal(0, rng.uniform(2, 8), image.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


def _silhouette(rng: np.random.Generator, name: str, size: float) -> Mask:
    angle = rng.uniform(0, 2 * np.pi)
    squeeze = rng.uniform(0.75, 1)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    pose = turn @ np.diag([1, squeeze]) * size / 2
    outlines = [outline @ pose.T for outline in _outlines(rng, name)]
    low, high = outlines[0].min(0), outlines[0].max(0)
    side = np.ceil(high - low).astype(int) + 2
    canvas = np.zeros((side[1] * SUPERSAMPLE, side[0] * SUPERSAMPLE), np.uint8)
    points = [((o - low + 1) * SUPERSAMPLE).round().astype(np.int32) for o in outlines]
    cv2.fillPoly(canvas, points, 1)
    return canvas.astype(bool)


def _outlines(rng: np.random.Generator, name: str) -> list[NDArray[np.float64]]:
    """Unit outlines (x, y) in [−1, 1]; a second one is a hole."""
    if name == 'ball':
        return [_polygon(48)]
    if name == 'ring':
        return [_polygon(48), _polygon(48) * rng.uniform(0.4, 0.65)]
    if name == 'box':
        return [_polygon(4)]
    if name == 'triangle':
        return [_polygon(3)]
    if name == 'star':
        spikes = _polygon(10)
        spikes[1::2] *= rng.uniform(0.4, 0.55)
        return [spikes]
    arm = rng.uniform(0.25, 0.4)
    corner = [[1, -arm], [1, arm], [arm, arm]]
    quarter = np.array([[0, -1], [1, 0]])
    turns = [np.linalg.matrix_power(quarter, n) for n in range(4)]
    return [np.concatenate([np.array(corner) @ turn.T for turn in turns])]


def _polygon(corners: int) -> NDArray[np.float64]:
    angles = np.arange(corners) * 2 * np.pi / corners
    return np.stack([np.cos(angles), np.sin(angles)], 1)


def _coverage(mask: Mask) -> Image:
    height, width = (side // SUPERSAMPLE for side in mask.shape)
    size = (width, height)
    return cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA)


def _bevel(mask: Mask, width: float) -> Image:
    """Height of a rounded rim: a quarter circle of `width` times the object's side."""
    distance = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5)
    rim = max(width * max(mask.shape), 1.0)
    ramp = np.clip(distance / rim, 0, 1)
    height = np.sqrt(1 - (1 - ramp) ** 2) * rim / SUPERSAMPLE
    size = (mask.shape[1] // SUPERSAMPLE, mask.shape[0] // SUPERSAMPLE)
    return cv2.resize(height, size, interpolation=cv2.INTER_AREA)


def _lambert(rng: np.random.Generator, height: Image) -> Image:
    """Brightness of a height map under a random lamp, about 1."""
    slope_y, slope_x = np.gradient(height)
    azimuth = rng.uniform(0, 2 * np.pi)
    lamp = np.array([np.cos(azimuth), np.sin(azimuth), 1.2])
    lamp /= np.linalg.norm(lamp)
    steep = np.sqrt(slope_x**2 + slope_y**2 + 1)
    shine = (-slope_x * lamp[0] - slope_y * lamp[1] + lamp[2]) / steep
    return (0.45 + 0.75 * np.clip(shine, 0, 1)).astype(np.float32)


def _random_color(rng: np.random.Generator) -> Image:
    hue, saturation = rng.uniform(0, 180), rng.uniform(30, 220)
    hsv = np.array([[[hue, saturation, rng.uniform(60, 230)]]], np.uint8)
    return cv2.cvtColor(hsv, cv2.COLOR_HSV2BGR)[0, 0].astype(np.float32)


def _smooth_noise(
    rng: np.random.Generator, height: int, width: int, cells: int
) -> Image:
    grid = rng.normal(0, 1, (cells, cells)).astype(np.float32)
    return cv2.resize(grid, (width, height), interpolation=cv2.INTER_CUBIC)


def _stripes(rng: np.random.Generator, height: int, width: int, period: float) -> Image:
    angle = rng.uniform(0, np.pi)
    y, x = np.mgrid[:height, :width]
    phase = (x * np.cos(angle) + y * np.sin(angle)) * 2 * np.pi / period
    return np.sin(phase + rng.uniform(0, 2 * np.pi)).astype(np.float32)


def _pattern(rng: np.random.Generator, height: int, width: int) -> Image:
    """Stripes, a weave, or nothing; about 1."""
    kind = rng.choice(['plain', 'stripes', 'weave'])
    strength = rng.uniform(0.05, 0.25)
    if kind == 'plain':
        return np.ones((height, width), np.float32)
    waves = _stripes(rng, height, width, rng.uniform(6, 40))
    if kind == 'weave':
        waves = waves * _stripes(rng, height, width, rng.uniform(6, 40))
    return 1 + strength * waves


def _object_texture(rng: np.random.Generator, shape: tuple[int, ...]) -> Image:
    height, width = shape
    kind = rng.choice(['plain', 'stripes', 'stains'])
    if kind == 'plain':
        return np.ones(shape, np.float32)
    if kind == 'stripes':
        period = max(4.0, max(shape) * rng.uniform(0.1, 0.4))
        return 1 + rng.uniform(0.1, 0.35) * _stripes(rng, height, width, period)
    return 1 + rng.uniform(0.05, 0.15) * _smooth_noise(rng, height, width, 6)
