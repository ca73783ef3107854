_base_ = './casvit_xs.py'
backbone = dict(
    norm_eval=True,
    drop_path_rate=0.0,
    init_cfg=dict(type='Pretrained', checkpoint='checkpoints/casvit_xs.pth'),
)
