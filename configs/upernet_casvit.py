_base_ = './casvit/upernet_casvit_m_160k_ade20k.py'
