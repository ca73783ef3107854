import hashlib
import json

import cv2
import numpy as np
import pytest
from pycocotools.coco import COCO

from mmcasvit.datasets import shapes as module
from mmcasvit.datasets.shapes import (
    BACKGROUND,
    OTHER,
    SEMANTIC_CLASSES,
    annotations,
    label_map,
    make_scene,
    write_shapes,
)
from mmcasvit.datasets.shapes_render import CLASSES, draw_object


def digest(root):
    files = sorted(p for p in root.rglob('*') if p.is_file())
    whole = hashlib.sha256()
    for path in files:
        whole.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return whole.hexdigest()


@pytest.fixture(scope='module')
def scenes():
    return [make_scene(np.random.default_rng([9, i])) for i in range(150)]


class TestFiles:
    def test_same_bytes_for_the_same_seed(self, tmp_path):
        roots = [tmp_path / name for name in 'abc']
        for root, seed in zip(roots, (4, 4, 5), strict=True):
            write_shapes(root, num_train=3, num_val=2, seed=seed)
        a, b, c = map(digest, roots)
        assert a == b
        recipe = json.loads((roots[2] / 'shapes.json').read_text())
        assert recipe['seed'] == 5
        assert a != c

    def test_layout(self, shapes):
        for folder, split, count in (
            ('training', 'train', 12),
            ('validation', 'val', 6),
        ):
            pictures = sorted((shapes / 'images' / folder).iterdir())
            labels = sorted((shapes / 'annotations' / folder).iterdir())
            assert len(pictures) == len(labels) == count
            coco = json.loads(
                (shapes / 'annotations' / f'instances_{split}.json').read_text()
            )
            assert [i['file_name'] for i in coco['images']] == [
                p.name for p in pictures
            ]
            assert [c['name'] for c in coco['categories']] == list(CLASSES)
            for info, label in zip(coco['images'], labels, strict=True):
                map_ = cv2.imread(str(label), cv2.IMREAD_UNCHANGED)
                assert map_.shape == (info['height'], info['width'])
                assert map_.max() <= len(SEMANTIC_CLASSES)

    def test_train_and_val_differ(self, shapes):
        a, b = (
            shapes / 'images' / s / '000000.jpg' for s in ('training', 'validation')
        )
        assert a.read_bytes() != b.read_bytes()

    def test_is_written_once(self, tmp_path):
        root = write_shapes(tmp_path / 's', num_train=1, num_val=1)
        before = (root / 'shapes.json').stat().st_mtime_ns
        write_shapes(root, num_train=1, num_val=1)
        assert (root / 'shapes.json').stat().st_mtime_ns == before

    def test_other_data_is_never_overwritten(self, tmp_path):
        (tmp_path / 'mine.txt').write_text('precious')
        with pytest.raises(FileExistsError, match='holds other data'):
            write_shapes(tmp_path, num_train=1, num_val=1)
        assert (tmp_path / 'mine.txt').read_text() == 'precious'

    def test_broken_off_run_leaves_nothing(self, tmp_path, monkeypatch):
        def stop(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(module, 'label_map', stop)
        with pytest.raises(KeyboardInterrupt):
            write_shapes(tmp_path / 's', num_train=1, num_val=1)
        monkeypatch.undo()
        assert not (tmp_path / 's').exists()
        write_shapes(tmp_path / 's', num_train=1, num_val=1)
        assert [p.name for p in tmp_path.iterdir()] == ['s']

    def test_coco_api_reads_it(self, shapes):
        coco = COCO(shapes / 'annotations' / 'instances_train.json')
        for annotation in coco.dataset['annotations']:
            mask = coco.annToMask(annotation)
            assert mask.sum() == annotation['area']
            ys, xs = np.nonzero(mask)
            x, y, w, h = annotation['bbox']
            # Polygons' boxes are not rounded to pixels.
            assert abs(xs.min() - x) <= 1
            assert abs(ys.min() - y) <= 1
            assert abs(xs.max() + 1 - x - w) <= 1
            assert abs(ys.max() + 1 - y - h) <= 1


class TestContent:
    def test_every_kind_occurs(self, scenes):
        found = [a for scene in scenes for a in annotations(scene)]
        assert {a['category_id'] for a in found} == set(range(1, len(CLASSES) + 1))
        polygons = [a for a in found if isinstance(a['segmentation'], list)]
        assert polygons
        assert any(len(a['segmentation']) > 1 for a in polygons), 'hidden in the middle'
        assert any(not a['iscrowd'] for a in found if a not in polygons), 'holes'
        assert any(a['iscrowd'] for a in found)
        assert any(not scene.names for scene in scenes), 'nothing in it'
        assert any(None in scene.names for scene in scenes), 'of no class'
        areas = np.array([a['area'] for a in found])
        assert areas.min() < 10**2
        assert areas.max() > 120**2
        assert 0.2 < (areas < 32**2).mean() < 0.7

    def test_masks_agree_with_the_label_map(self, scenes):
        from pycocotools import mask as rle_tools

        for scene in scenes[:40]:
            labels = label_map(scene)
            rebuilt = np.full_like(labels, BACKGROUND)
            for annotation in annotations(scene):
                rle = module._to_rle(annotation['segmentation'], labels.shape)
                rebuilt[rle_tools.decode(rle) == 1] = annotation['category_id'] + 1
            known = labels != OTHER
            # Polygons are rounded to half a pixel.
            assert (rebuilt == labels)[known].mean() > 0.985

    def test_objects_stay_visible(self, scenes):
        hidden = 0
        for scene in scenes:
            for i, full in enumerate(scene.full):
                seen = (scene.owner == i + 1).sum()
                assert seen >= 0.99 * module.MIN_VISIBLE * module.MIN_INSIDE * full
                hidden += seen < 0.9 * full
        assert hidden > 20

    @pytest.mark.parametrize('name', CLASSES)
    @pytest.mark.parametrize('size', [8, 60, 200])
    def test_size_and_shading(self, name, size):
        sprite = draw_object(np.random.default_rng(1), name, size)
        longest = max(sprite.alpha.shape)
        assert 0.5 * size < longest <= 1.5 * size + 4
        inside = sprite.color[sprite.alpha > 0.99]
        assert len(inside) == 0 or np.isfinite(inside).all()
        if size == 200:
            assert inside.mean(1).std() > 3, 'no flat color'


def test_uncompressed_rle_round_trip():
    from pycocotools import mask as rle_tools

    rng = np.random.default_rng(0)
    for shape in ((1, 1), (3, 5), (17, 4)):
        for fill in (0.0, 0.5, 1.0):
            mask = rng.random(shape) < fill
            rle = module._to_rle(module._uncompressed_rle(mask), shape)
            assert np.array_equal(rle_tools.decode(rle), mask)
