_base_ = './casvit/retinanet_casvit_m_1x_coco.py'
