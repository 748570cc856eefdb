"""Compiled code: the decorator of compiled functions, and their code that is kept between runs."""

from simgrid_broker.compiled.decorator import compiled, watched
from simgrid_broker.compiled.plain import uncompiled

__all__ = ["compiled", "uncompiled", "watched"]
