from .additive import AdditiveTokenMixer

__all__ = ['AdditiveTokenMixer']
