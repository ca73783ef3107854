_base_ = './casvit/maskrcnn_casvit_m_1x_coco.py'
