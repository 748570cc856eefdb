"""Compiled code: the decorators of compiled functions, and their code that is kept between runs."""

from simgrid_broker.compiled.decorator import compiled, compiled_with, uncompiled
from simgrid_broker.compiled.kept_code import watched

__all__ = ["compiled", "compiled_with", "uncompiled", "watched"]
