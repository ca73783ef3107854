_base_ = './runtime.py'
default_scope = 'mmdet'
default_hooks = dict(visualization=dict(type='DetVisualizationHook'))
visualizer = dict(
    type='DetLocalVisualizer', vis_backends=_base_.vis_backends, name='visualizer'
)
log_processor = dict(type='LogProcessor', window_size=50, by_epoch=True)
