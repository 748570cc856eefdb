"""Shortcuts through Numba's front end, taken while a function is compiled: what it finds out again and again is kept.

They replace internals of Numba by quicker ones with the same results. Where a version of Numba lacks one of these
internals, or gives it other parameters, it is left as it is, and compiling takes longer.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from numba.core import base, ir, postproc, transforms, types
from numba.core.types.functions import BaseFunction

_resolved: dict[tuple, Any] = {}
"""Signature of each call of one of Numba's own functions, by function and types of the arguments."""
_sizes: dict[tuple[int, str], tuple[Any, int]] = {}
"""Size of each type of LLVM, beside the target for which it is, by the target and the name of the type."""
_texts: dict[int, tuple[types.Record, str]] = {}
"""What each type of records is called, beside it, by its id."""


def call_type(original: Callable) -> Callable:
    """Resolve a call of a function or operator once for the same types: Numba tries up to 40 templates every time."""
    def get_call_type(self, context, args, kws):
        call = id(self), context, args
        if not kws and call in _resolved:
            return _resolved[call][1]
        signature = original(self, context, args, kws)
        if not kws:
            _resolved[call] = self, signature                        # which keeps the function, so its id as well
        return signature
    return get_call_type


def has_loc(original: Callable) -> Callable:
    """Read from the code of a plain function whether it takes `loc`, instead of making a signature for each call."""
    def _has_loc(fn):
        if type(fn) is not FunctionType or hasattr(fn, "__wrapped__"):
            return original(fn)
        code = fn.__code__
        starred = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
        return "loc" in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount + starred]
    return _has_loc


def variables(_original: Callable) -> Callable:
    """List the variables of an instruction with one look at the type of each of its values, which are mostly places."""
    kinds: dict[type, int] = {}

    def gather(values, found):
        for value in values:
            kind = kinds.get(type(value))
            if kind is None:
                known = (ir.Var, ir.Inst, (list, tuple), dict)
                kind = kinds[type(value)] = next((k for k, one in enumerate(known) if isinstance(value, one)), 4)
            if kind == 0:
                found.append(value)
            elif kind == 1:
                found += value.list_vars()
            elif kind == 2:
                gather(value, found)
            elif kind == 3:
                gather(value.values(), found)

    def _rec_list_vars(self, val):
        found: list = []
        gather((val,), found)
        return found
    return _rec_list_vars


def lifetimes(original: Callable) -> Callable:
    """Leave out how long each variable of a plain function lives: only ends of variables and generators need it."""
    def run(self, emit_dels=False, extend_lifetimes=False):
        listing = self.func_ir
        if emit_dels or listing.is_generator or "literal_unroll" in listing.func_id.code.co_names:
            return original(self, emit_dels, extend_lifetimes)
        listing.blocks = transforms.canonicalize_cfg(listing.blocks)
        listing.variable_lifetime, listing.generator_info = postproc.VariableLifetime(listing.blocks), None
    return run


def texts(original: Callable) -> Callable:
    """Describe a type of records once: an error that Numba raises and catches for each column that is read says it."""
    def __repr__(self):
        if id(self) not in _texts:
            _texts[id(self)] = self, original(self)                  # which keeps the type, so its id as well
        return _texts[id(self)][1]
    return __repr__


def sizes(original: Callable) -> Callable:
    """Have LLVM work out the size of a type once."""
    def get_abi_sizeof(self, ty):
        name, target = str(ty), self.target_data
        if "%" in name:                                              # which says what it is called, not what it is
            return original(self, ty)
        if (id(target), name) not in _sizes:
            _sizes[id(target), name] = target, original(self, ty)
        return _sizes[id(target), name][1]
    return get_abi_sizeof


SHORTCUTS = (
    (BaseFunction, "get_call_type", ("self", "context", "args", "kws"), call_type),
    (base, "_has_loc", ("fn",), has_loc),
    (ir.Inst, "_rec_list_vars", ("self", "val"), variables),
    (postproc.PostProcessor, "run", ("self", "emit_dels", "extend_lifetimes"), lifetimes),
    (types.Record, "__repr__", ("self",), texts),
    (base.BaseContext, "get_abi_sizeof", ("self", "ty"), sizes),
)
"""Where an internal is, its name, its parameters, and what makes the quicker one of it."""


@contextmanager
def shortcuts() -> Iterator[None]:
    """Within, Numba takes the shortcuts."""
    found = [(owner, name, getattr(owner, name), quicker) for owner, name, parameters, quicker in SHORTCUTS
             if fits(getattr(owner, name, None), parameters)]
    for owner, name, original, quicker in found:
        setattr(owner, name, quicker(original))
    try:
        yield
    finally:
        for owner, name, original, _ in found:
            setattr(owner, name, original)


def fits(internal: Any, parameters: tuple[str, ...]) -> bool:
    """Whether an internal of Numba is a function with these parameters."""
    return inspect.isfunction(internal) and tuple(inspect.signature(internal).parameters) == parameters
