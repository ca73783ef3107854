_base_ = './runtime.py'
default_scope = 'mmseg'
default_hooks = dict(
    logger=dict(log_metric_by_epoch=False),
    checkpoint=dict(by_epoch=False),
    visualization=dict(type='SegVisualizationHook'),
)
visualizer = dict(
    type='SegLocalVisualizer', vis_backends=_base_.vis_backends, name='visualizer'
)
log_processor = dict(type='LogProcessor', window_size=50, by_epoch=False)
