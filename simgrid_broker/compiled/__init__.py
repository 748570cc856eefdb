"""Compiled code: the decorator of compiled functions, and their code that is kept between runs."""

from simgrid_broker.compiled.decorator import compiled, compiled_as_one, compiled_with, watched
from simgrid_broker.compiled.plain import uncompiled

__all__ = ["compiled", "compiled_as_one", "compiled_with", "uncompiled", "watched"]
