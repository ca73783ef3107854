_base_ = './casvit/semanticfpn_casvit_m_40k_ade20k.py'
