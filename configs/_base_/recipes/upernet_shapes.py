_base_ = [
    '../models/upernet.py',
    '../datasets/shapes_semantic.py',
    '../runtime_mmseg.py',
    '../schedules/mini_iters.py',
]
default_hooks = dict(checkpoint=dict(interval=_base_.max_iters))
num_classes = 7
model = dict(
    data_preprocessor=dict(size=_base_.crop_size),
    # The last map of a crop is 2×2: there is no more to pool.
    decode_head=dict(
        channels=32,
        pool_scales=(1, 2),
        dropout_ratio=0.0,
        num_classes=num_classes,
        loss_decode=[_base_.cross_entropy, _base_.dice],
    ),
    auxiliary_head=dict(
        channels=32,
        num_classes=num_classes,
        loss_decode=dict(
            _base_.cross_entropy, loss_weight=0.4 * _base_.cross_entropy.loss_weight
        ),
    ),
)
