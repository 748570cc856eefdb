"""Digest of what a compiled function is made of: its code, and all that it names, through all that it calls."""

import sys
from collections.abc import Callable, Iterable
from enum import EnumMeta
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import numba
import numpy as np

INSTALLED = frozenset({"numba", "llvmlite", "numpy", *sys.stdlib_module_names})
"""Packages that are the same as long as their versions are, and that of Python."""
VERSIONS = f"{sys.version} {numba.__version__} {np.__version__}"


def fingerprint(function: Callable) -> str:
    """Digest of a function, compiled or plain, that changes with its code, with constants, and with what it calls."""
    return _of_function(getattr(function, "py_func", function))


@cache
def _of_function(function: FunctionType) -> str:
    closure = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    held = {name: cell.cell_contents for name, cell in closure}
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    named = {name: function.__globals__[name] for name in names if name in function.__globals__}
    values = {"": function.__defaults__} | held | named
    return digest(*map(_of_code, _codes(function.__code__)), *(
        f"{name}={_of_value(values[name], function, names)}" for name in sorted(values)))


def _codes(code: CodeType) -> Iterable[CodeType]:
    """The code of a function and of the functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _of_code(code: CodeType) -> str:
    constants = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
    return f"{code.co_code!r} {constants} {code.co_names} {code.co_varnames}"


def _of_value(value: object, user: FunctionType, names: set[str]) -> str:
    """Text of a value that a function names, or that a module holds whose attributes have the names of the function."""
    plain = getattr(value, "py_func", None)
    if plain is user:
        return "itself"
    if plain is not None:
        return _of_function(plain)
    if isinstance(value, ModuleType):
        held = {} if _is_installed(value.__name__) else vars(value)
        return " ".join((value.__name__, *(f"{name}={_of_value(held[name], user, names)}"
                                           for name in sorted(names & held.keys())
                                           if not isinstance(held[name], ModuleType))))
    if isinstance(value, tuple | list):
        return f"({', '.join(_of_value(item, user, names) for item in value)})"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {digest(value.tobytes())}"
    if isinstance(value, EnumMeta):
        return repr([(name, value[name].value) for name in value.__members__])
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic | np.dtype):
        return repr(value)
    kind = value if isinstance(value, type | FunctionType) else type(value)
    return f"{kind.__qualname__} {_of_file(kind.__module__)}"


def _of_file(module: str) -> str:
    """Name of a module, and a digest of its file unless it belongs to an installed package."""
    file = None if _is_installed(module) else getattr(sys.modules.get(module), "__file__", None)
    return f"{module} {digest(Path(file).read_bytes()) if file else ''}"


def _is_installed(module: str) -> bool:
    return module.partition(".")[0] in INSTALLED


DIGITS = 16
"""Length of a digest, hexadecimal digits."""


def digest(*contents: str | bytes) -> str:
    """16 hexadecimal digits that change with any of the contents and with the versions of Python, Numba and NumPy."""
    found = sha256(VERSIONS.encode())
    for content in contents:
        found.update(content.encode() if isinstance(content, str) else content)
        found.update(b"\0")
    return found.hexdigest()[:DIGITS]
