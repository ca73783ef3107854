_base_ = './casvit_m.py'
backbone = dict(
    norm_eval=True,
    drop_path_rate=0.1,
    init_cfg=dict(type='Pretrained', checkpoint='checkpoints/casvit_m.pth'),
)
