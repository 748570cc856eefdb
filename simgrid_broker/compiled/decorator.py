"""The decorators of compiled functions, plain Python that Numba translates; with `NUMBA_DISABLE_JIT=1` they stay plain.

The own compiler (`compiler`) translates a function called from Python in one piece with all that it calls; if it fails,
stock Numba takes its place (`stock`).
"""

from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, TypeVar

import numba

from simgrid_broker.compiled.kept_code import fingerprint
from simgrid_broker.compiled.stock import fall_back, is_chosen, is_in_use, stock

compiler: ModuleType | None = None
if not numba.config.DISABLE_JIT and not is_chosen():
    try:
        from simgrid_broker.compiled import compiler
    except Exception as error:                     # any: a version of Numba may have changed whatever it reads
        fall_back(error)

F = TypeVar("F", bound=Callable[..., Any])
PACKAGE = __name__.partition(".")[0]


def compiled(function: F) -> F:
    """Translate `function` with Numba, when it is first called with arguments of these types, and keep the result.

    Without reference counting a function may not create arrays, including slices. Called by compiled code, it takes
    whole numbers as int64, or uint64, whatever their width.
    """
    if numba.config.DISABLE_JIT:
        return function
    if compiler is None or is_in_use():
        return stock(function)
    try:
        return compiler.Compiled(function)
    except Exception as error:
        fall_back(error)
        return stock(function)


def compiled_with(function: Callable[..., Any], **named: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, compiled, with other functions in place of those that it calls itself by these names.

    If one of them is not compiled, the result is not compiled either. Its full name has a digest of what it consists
    of: processes that compile different variants would otherwise give both the same name in kept code.
    """
    plain = getattr(function, "py_func", function)
    bound = FunctionType(plain.__code__, plain.__globals__ | named, plain.__name__, plain.__defaults__)
    bound.__module__, bound.__qualname__ = plain.__module__, plain.__qualname__
    if not all(hasattr(other, "py_func") for other in named.values()):
        return bound
    bound.__qualname__ += f".{fingerprint(bound)}"
    return compiled(bound)


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
