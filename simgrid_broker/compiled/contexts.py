"""Numba's typing and target context with a memory: what Numba works out for each call it works out once for its types.

A view shares all attributes of the context that it is made of and is used for one compilation; Numba's own contexts
stay as they are.
"""

from types import BuiltinFunctionType
from typing import Any, TypeVar

from llvmlite.ir import Type as MachineType
from numba.core import types
from numba.core.cpu import CPUContext
from numba.core.types.misc import Module
from numba.core.typing import Signature
from numba.core.typing.context import Context

C = TypeVar("C")
NUMBAS_OWN = types.BaseFunction, BuiltinFunctionType, str
"""Functions and operators whose result types never change."""

_signatures: dict[tuple | None, Any] = {}
"""Signature of each call of one of Numba's own functions, by function and types of the arguments."""
_attributes: dict[tuple[int, str], types.Type] = {}
"""Type of each attribute of a type."""
_code: dict[tuple, Any] = {}
"""Function that lists the instructions of each call of one of Numba's own functions."""
_readers: dict[tuple[int, str], Any] = {}
"""Function that lists the instructions for an attribute of a type."""
_sizes: dict[str, int] = {}
"""Size of each type of LLVM, bytes, by its text."""
_kept: list = []
"""Functions and types whose ids stand in keys."""


def view(context: Any, kind: type[C]) -> C:
    """The context as one of this kind, which shares its attributes."""
    made = object.__new__(kind)
    made.__dict__ = context.__dict__
    return made


def key_of(function: Any, args: tuple) -> tuple | None:
    """Ids of one of Numba's own functions and of the types of its arguments, None for other functions and arguments."""
    if not isinstance(function, NUMBAS_OWN) or not all(isinstance(arg, types.Type | str) for arg in args):
        return None
    return id(function), *(arg if isinstance(arg, str) else id(arg) for arg in args)


class Typing(Context):
    """Typing context that resolves a call once for the same types: Numba tries up to 40 templates every time."""

    def resolve_function_type(self, func, args, kws):
        """Called by Numba for the signature of a call, None if there is none."""
        key = None if kws else key_of(func, args)
        known = _signatures.get(key)
        if known is None:
            known = super().resolve_function_type(func, args, kws)
            if key is not None and known is not None:
                _signatures[key] = known
                _kept.append((func, args))
        return known

    def resolve_setitem(self, target, index, value):
        """Called by Numba for the signature of `target[index] = value`."""
        key = "setitem", id(target), id(index), id(value)
        if key not in _signatures:
            _signatures[key] = super().resolve_setitem(target, index, value)
            _kept.append((target, index, value))
        return _signatures[key]

    def resolve_getattr(self, typ, attr):
        """Called by Numba for the type of an attribute, None if there is none."""
        known = _attributes.get((id(typ), attr))
        if known is None:
            known = super().resolve_getattr(typ, attr)
            if known is not None and not isinstance(typ, Module):
                _attributes[id(typ), attr] = known
                _kept.append(typ)
        return known


class Target(CPUContext):
    """Target context that looks once for what lists the instructions of a call, an attribute or a size."""

    def get_function(self, fn, sig, _firstcall=True):
        """Called by Numba for what lists the instructions of a call."""
        key = key_of(fn, sig.args) if isinstance(sig, Signature) and sig.recvr is None else None
        if key is None:
            return super().get_function(fn, sig, _firstcall)
        if key not in _code:
            _code[key] = super().get_function(fn, sig, _firstcall)
            _kept.append((fn, sig))
        known = _code[key]
        made = object.__new__(type(known))
        made.__dict__.update(vars(known), _context=self, _sig=sig.as_function())
        return made

    def get_getattr(self, typ, attr):
        """Called by Numba for what lists the instructions that read an attribute."""
        if isinstance(typ, Module):
            return super().get_getattr(typ, attr)
        if (id(typ), attr) not in _readers:
            _readers[id(typ), attr] = super().get_getattr(typ, attr)
            _kept.append(typ)
        return _readers[id(typ), attr]

    def get_abi_sizeof(self, ty: MachineType) -> int:
        """Called by Numba for the size of a type of LLVM, bytes."""
        text = str(ty)
        if "%" in text:                                # says what it is called, not what it is
            return super().get_abi_sizeof(ty)
        if text not in _sizes:
            _sizes[text] = super().get_abi_sizeof(ty)
        return _sizes[text]
