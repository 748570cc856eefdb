"""Compiled functions as the plain Python that they are written in."""

from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

PACKAGE = __name__.partition(".")[0]


def uncompiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function as plain Python, and so all compiled functions that it calls, for a few calls.

    Only what it calls by a global name, or by that of a module of the package, is found.
    """
    plain = getattr(function, "py_func", function)
    if plain is function:
        return function
    known = {name: plain.__globals__[name] for name in plain.__code__.co_names if name in plain.__globals__}
    return FunctionType(plain.__code__, plain.__globals__ | {
        name: _uncompiled_parts(value, plain.__code__.co_names) if isinstance(value, ModuleType) else uncompiled(value)
        for name, value in known.items()}, plain.__name__, plain.__defaults__, plain.__closure__)


def _uncompiled_parts(module: ModuleType, names: Iterable[str]) -> object:
    """A module of the package with the functions `names` uncompiled; any other module as it is."""
    if module.__name__.partition(".")[0] != PACKAGE:
        return module
    return SimpleNamespace(**{name: uncompiled(getattr(module, name)) for name in names if hasattr(module, name)})
