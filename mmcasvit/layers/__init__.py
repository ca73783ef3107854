from .acmix import ACmix
from .drop_path import DropPath
from .integration import INTEGRATIONS
from .mlp import ConvMlp
from .token_mixers import AdditiveTokenMixer

__all__ = ['INTEGRATIONS', 'ACmix', 'AdditiveTokenMixer', 'ConvMlp', 'DropPath']
