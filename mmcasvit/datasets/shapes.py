"""The embedded data: one seeded set of pictures with instances and label maps.

Six classes of shaded, textured, rotated objects, 8 to 200 pixels, that hide one another
on textured backgrounds; bent sticks that belong to no class; groups marked as crowd;
pictures without objects. One set serves both hosts: COCO instance json (polygons, and
RLE where a mask has a hole) and ADE-style label maps (0 = other, 1 = background, then
the classes; use `reduce_zero_label=True`).
"""

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from pycocotools import mask as rle_tools

from .shapes_render import (
    CLASSES,
    SUPERSAMPLE,
    Sprite,
    develop,
    draw_background,
    draw_object,
    draw_stick,
)

SPLITS = {'training': 'train', 'validation': 'val'}
SEMANTIC_CLASSES = ('background', *CLASSES)
SIDES = ((256, 256), (256, 208), (208, 256))
SIZES = (8.0, 200.0)
MIN_INSIDE = 0.6
MIN_VISIBLE = 0.3
OTHER, BACKGROUND = 0, 1


@dataclass
class Scene:
    """A picture under construction.

    Args:
        image: (H, W, 3), BGR in [0, 255].
        owner: Which instance shows at each point, at `SUPERSAMPLE` times the
            resolution; 0 is background.
        names: Class of instance i + 1, None for what belongs to no class.
        full: Its area before others hid it, in points of `owner`.
        crowd: Whether it is a group.
    """

    image: NDArray[np.float32]
    owner: NDArray[np.int16]
    names: list[str | None] = field(default_factory=list)
    full: list[int] = field(default_factory=list)
    crowd: list[bool] = field(default_factory=list)

    def paste(
        self, sprite: Sprite, x: int, y: int, instance: int | None = None
    ) -> bool:
        """Put a sprite's corner at pixel (x, y), unless it hid too much of another.

        Args:
            instance: Adds to this instance instead of a new one.
        """
        height, width = self.image.shape[:2]
        left, top = max(-x, 0), max(-y, 0)
        right = min(sprite.alpha.shape[1], width - x)
        bottom = min(sprite.alpha.shape[0], height - y)
        if right <= left or bottom <= top:
            return False
        fine = SUPERSAMPLE
        mask = sprite.mask[top * fine : bottom * fine, left * fine : right * fine]
        owner = self.owner[
            (y + top) * fine : (y + bottom) * fine,
            (x + left) * fine : (x + right) * fine,
        ]
        if mask.sum() < MIN_INSIDE * sprite.mask.sum() or self._hides(owner[mask]):
            return False
        self._blend(sprite, x, y)
        owner[mask] = instance or len(self.names) + 1
        return True

    def add(self, name: str | None, area: int, crowd: bool = False) -> None:
        """Record the instance that was pasted last."""
        self.names.append(name)
        self.full.append(area)
        self.crowd.append(crowd)

    def _hides(self, covered: NDArray[np.int16]) -> bool:
        lost = np.bincount(covered, minlength=len(self.names) + 1)[1:]
        for instance in np.flatnonzero(lost) + 1:
            seen = np.count_nonzero(self.owner == instance) - lost[instance - 1]
            if seen < MIN_VISIBLE * self.full[instance - 1]:
                return True
        return False

    def _blend(self, sprite: Sprite, x: int, y: int) -> None:
        """Darken the sprite's shadow, then lay its color over the picture."""
        height, width = self.image.shape[:2]
        cover = np.zeros((height, width), np.float32)
        color = np.zeros((height, width, 3), np.float32)
        left, top = max(-x, 0), max(-y, 0)
        right = min(sprite.alpha.shape[1], width - x)
        bottom = min(sprite.alpha.shape[0], height - y)
        here = np.s_[y + top : y + bottom, x + left : x + right]
        part = np.s_[top:bottom, left:right]
        cover[here], color[here] = sprite.alpha[part], sprite.color[part]
        reach = 1 + 0.03 * max(sprite.alpha.shape)
        shift = np.float32([[1, 0, reach], [0, 1, reach]])
        shadow = cv2.warpAffine(cover, shift, (width, height))
        shadow = cv2.GaussianBlur(shadow, (0, 0), reach)
        self.image *= 1 - 0.35 * shadow[..., None]
        self.image += cover[..., None] * (color - self.image)


def make_scene(rng: np.random.Generator) -> Scene:
    """Draw one random picture with its instances."""
    height, width = SIDES[rng.integers(len(SIDES))]
    fine = (height * SUPERSAMPLE, width * SUPERSAMPLE)
    scene = Scene(draw_background(rng, height, width), np.zeros(fine, np.int16))
    if rng.random() < 0.04:
        return scene
    if rng.random() < 0.08:
        _add_crowd(rng, scene)
    sizes = np.exp(rng.uniform(*np.log(SIZES), size=rng.integers(1, 9)))
    order = np.argsort(-sizes * rng.uniform(0.5, 2, len(sizes)))
    for size in sizes[order]:
        name = CLASSES[rng.integers(len(CLASSES))]
        _try_places(rng, scene, draw_object(rng, name, size), name)
    if rng.random() < 0.3:
        _try_places(rng, scene, draw_stick(rng, rng.uniform(20, 120)), None)
    return scene


def _try_places(
    rng: np.random.Generator, scene: Scene, sprite: Sprite, name: str | None
) -> None:
    height, width = scene.image.shape[:2]
    area = int(sprite.mask.sum())
    for _ in range(10):
        x = int(rng.integers(width)) - sprite.alpha.shape[1] // 2
        y = int(rng.integers(height)) - sprite.alpha.shape[0] // 2
        if scene.paste(sprite, x, y):
            scene.add(name, area)
            return


def _add_crowd(rng: np.random.Generator, scene: Scene) -> None:
    """Scatter many small objects of one class; together they are one instance."""
    height, width = scene.image.shape[:2]
    name = CLASSES[rng.integers(len(CLASSES))]
    center = rng.uniform(0.2, 0.8, 2) * (width, height)
    instance = len(scene.names) + 1
    scene.add(name, 0, crowd=True)
    for _ in range(rng.integers(10, 25)):
        sprite = draw_object(rng, name, rng.uniform(7, 14))
        x, y = (center + rng.normal(0, 20, 2)).astype(int)
        scene.paste(sprite, int(x), int(y), instance)
    scene.full[instance - 1] = int((scene.owner == instance).sum())


def label_map(scene: Scene) -> NDArray[np.uint8]:
    """ADE-style labels: 0 other, 1 background, 2… the classes."""
    lookup = [BACKGROUND]
    for name in scene.names:
        lookup.append(OTHER if name is None else SEMANTIC_CLASSES.index(name) + 1)
    return np.array(lookup, np.uint8)[_at_pixels(scene.owner)]


def annotations(scene: Scene) -> list[dict[str, Any]]:
    """COCO annotations of a scene, without ids."""
    found = []
    for i, (name, crowd) in enumerate(zip(scene.names, scene.crowd, strict=True)):
        visible = scene.owner == i + 1
        at_pixels = _at_pixels(visible)
        if name is None or at_pixels.sum() < 4:
            continue
        polygons = None if crowd else _polygons(visible)
        segmentation = _uncompressed_rle(at_pixels) if polygons is None else polygons
        rle = _to_rle(segmentation, at_pixels.shape)
        found.append(
            dict(
                category_id=CLASSES.index(name) + 1,
                iscrowd=int(crowd),
                segmentation=segmentation,
                area=float(rle_tools.area(rle)),
                bbox=[float(v) for v in rle_tools.toBbox(rle)],
            )
        )
    return found


def _at_pixels(fine: NDArray) -> NDArray:
    """Sample a fine map at the pixels' centers."""
    return fine[SUPERSAMPLE // 2 :: SUPERSAMPLE, SUPERSAMPLE // 2 :: SUPERSAMPLE]


def _polygons(visible: NDArray[np.bool_]) -> list[list[float]] | None:
    """Outlines of a mask in pixels, or None where it has a hole."""
    contours, tree = cv2.findContours(
        visible.astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE
    )
    if any(parent >= 0 for parent in tree[0, :, 3]):
        return None
    outlines = [cv2.approxPolyDP(c, 1.5, True)[:, 0] for c in contours]
    large = [o for o in outlines if len(o) >= 3 and cv2.contourArea(o) >= 16]
    return [((o + 0.5) / SUPERSAMPLE).round(2).ravel().tolist() for o in large] or None


def _uncompressed_rle(mask: NDArray[np.bool_]) -> dict[str, Any]:
    """COCO's run lengths down the columns, starting with zeros."""
    flat = np.concatenate([[False], mask.ravel(order='F'), [not mask[-1, -1]]])
    changes = np.flatnonzero(flat[1:] != flat[:-1])
    counts = np.diff(np.concatenate([[0], changes]))
    return dict(size=list(mask.shape), counts=counts.tolist())


def _to_rle(segmentation: Any, shape: tuple[int, int]) -> dict[str, Any]:
    rle = rle_tools.frPyObjects(segmentation, *shape)
    return rle_tools.merge(rle) if isinstance(rle, list) else rle


def write_shapes(
    root: str | Path,
    num_train: int = 1400,
    num_val: int = 150,
    seed: int = 0,
    progress: Callable[[Iterable[int], str], Iterable[int]] | None = None,
) -> Path:
    """Write the data set; the same arguments give the same bytes.

    Everything is written beside `root` first and moved there when complete, so a
    broken-off run leaves no half data set.

    Args:
        root: Folder to make: `images/{training,validation}/*.jpg`,
            `annotations/{training,validation}/*.png`, `annotations/instances_*.json`.
        num_train, num_val: Pictures per split.
        seed: Seed; each picture has its own stream.
        progress: Wraps an iterable and shows how far it is.

    Returns:
        root.

    Raises:
        FileExistsError: If `root` exists and holds something else.
    """
    root = Path(root)
    recipe = dict(generator=1, num_train=num_train, num_val=num_val, seed=seed)
    stamp = root / 'shapes.json'
    if stamp.is_file() and json.loads(stamp.read_text()) == recipe:
        return root
    if root.exists() and any(root.iterdir()):
        raise FileExistsError(
            f'{root} holds other data; name another folder, or move that one away'
        )
    partial = root.with_name(root.name + '.partial')
    shutil.rmtree(partial, ignore_errors=True)
    for number, (folder, count) in enumerate(
        zip(SPLITS, (num_train, num_val), strict=True)
    ):
        wrap = progress or (lambda items, _: items)
        streams = (
            (i, np.random.default_rng([seed, number, i]))
            for i in wrap(range(count), f'shapes/{folder}')
        )
        _write_split(partial, folder, streams)
    (partial / stamp.name).write_text(json.dumps(recipe))
    if root.exists():
        root.rmdir()
    partial.rename(root)
    return root


def _write_split(
    root: Path, folder: str, streams: Iterable[tuple[int, np.random.Generator]]
) -> None:
    pictures = root / 'images' / folder
    labels = root / 'annotations' / folder
    pictures.mkdir(parents=True)
    labels.mkdir(parents=True)
    categories = [
        dict(id=i + 1, name=name, supercategory='shape')
        for i, name in enumerate(CLASSES)
    ]
    coco: dict[str, list] = dict(images=[], annotations=[], categories=categories)
    for i, rng in streams:
        scene = make_scene(rng)
        photo = develop(rng, scene.image)
        quality = [cv2.IMWRITE_JPEG_QUALITY, 92]
        cv2.imwrite(str(pictures / f'{i:06d}.jpg'), photo, quality)
        cv2.imwrite(str(labels / f'{i:06d}.png'), label_map(scene))
        height, width = photo.shape[:2]
        coco['images'].append(
            dict(id=i, file_name=f'{i:06d}.jpg', height=height, width=width)
        )
        for annotation in annotations(scene):
            number = len(coco['annotations']) + 1
            coco['annotations'].append(dict(id=number, image_id=i, **annotation))
    target = root / 'annotations' / f'instances_{SPLITS[folder]}.json'
    target.write_text(json.dumps(coco))
