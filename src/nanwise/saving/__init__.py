"""Saving without pickle: objects become plain values and arrays, and only known classes come back.

:func:`save` and :func:`load` work on folders; :func:`encode` and :func:`decode` are the codec
behind them, also used for checkpoints. A file never names code: classes are looked up in tables
that are part of the package, and everything else is numbers, strings and arrays.
"""

from nanwise.saving.codec import decode, encode
from nanwise.saving.folder import load, save
from nanwise.saving.objects import ALLOWED

__all__ = ["ALLOWED", "decode", "encode", "load", "save"]
