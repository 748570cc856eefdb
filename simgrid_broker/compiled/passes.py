"""Passes of the own compiler: those of Numba, without those that plain loops do not need, and without work on
lifetimes; items of arrays in C order in compiled code, by few instructions; and typing and target contexts with a
memory.

Numba works out after each pass where each variable lives, which only reference counting and generators ask for. It
lists five times as many instructions for an item, as it prepares for slices of any layout, and writes a record byte by
byte; LLVM removes them again, which is a third of compiling. Arrays of other layouts, and slices, are those of Numba as
before, and so are all functions that are not compiled by this package. What Numba works out for each call, the contexts
work out once for its types: a view shares all attributes of the context that it is made of and is used for one
compilation.
"""

from types import BuiltinFunctionType
from typing import Any, TypeVar

from llvmlite import ir
from llvmlite.ir import Type as MachineType
from numba import types
from numba.core import cgutils, postproc, transforms, typed_passes, untyped_passes
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.cpu import CPUContext
from numba.core.ir import UNDEFINED
from numba.core.ir_utils import build_definitions
from numba.core.lowering import Lower
from numba.core.rewrites import rewrite_registry
from numba.core.ssa import reconstruct_ssa
from numba.core.typed_passes import NativeLowering
from numba.core.types.misc import Module, unliteral
from numba.core.typing import Signature
from numba.core.typing.context import Context

C = TypeVar("C")
WIDER = dict.fromkeys((types.int8, types.int16, types.int32, types.uint8, types.uint16, types.uint32), types.int64)
"""Types in which a part takes numbers of these types: one variant instead of one for each width."""
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
        if getattr(func, "typing_key", None) in (max, min):            # else compiled for each pair of widths
            args = tuple(WIDER.get(kind, kind) for kind in map(unliteral, args))
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


@register_pass(mutates_CFG=True, analysis_only=False)
class ItemLowering(NativeLowering):
    """Numba's pass that lists the instructions of a function, with its own way for items of arrays."""

    _name = "item_lowering"

    @property
    def lowering_class(self):
        """Called by Numba for the class that lists the instructions of one function."""
        return ItemLower


class ItemLower(Lower):
    """Lists the instructions of one function, with few of them for items of arrays."""

    def lower_getitem(self, resty, expr, value, index, signature):
        """Called by Numba for `array[k]`, `array[j, k]` and so on: a number, or the address of a record."""
        array, kind = signature.args
        if not is_of_item(self.context, array, kind):
            return super().lower_getitem(resty, expr, value, index, signature)
        address = place(self.context, self.builder, array, kind, *self.cast_to(signature, value, index))
        item = self.context.unpack_value(self.builder, array.dtype, address, align=None if array.aligned else 1)
        return self.context.cast(self.builder, item, signature.return_type, resty)

    def lower_setitem(self, target_var, index_var, value_var, signature):
        """Called by Numba for `array[k] = value` and so on: a number is converted, a record of the same type copied."""
        array, index, kind = signature.args
        if not can_be_written(self.context, array, index, kind):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        context, builder = self.context, self.builder
        *where, value = self.cast_to(signature, target_var, index_var, value_var)
        address = place(context, builder, array, index, *where)
        if isinstance(array.dtype, types.Record):
            return cgutils.raw_memmove(builder, address, value, context.get_constant(types.intp, 1), array.dtype.size)
        number = context.cast(builder, value, kind, array.dtype)
        return context.pack_value(builder, array.dtype, number, address, align=None if array.aligned else 1)

    def lower_binop(self, resty, expr, op):
        """Called by Numba for `one + other` and so on: operands whose types are those of the signature, once cast."""
        if expr.static_lhs is not UNDEFINED or expr.static_rhs is not UNDEFINED:
            return super().lower_binop(resty, expr, op)
        signature, typing = self.fndesc.calltypes[expr], view(self.context.typing_context, Typing)
        function = typing.resolve_value_type(op)
        listed = self.context.get_function(function, typing.resolve_function_type(function, signature.args, {}))
        result = listed(self.builder, self.cast_to(signature, expr.lhs, expr.rhs))
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def cast_to(self, signature, *variables):
        """The values of variables, in the types that the signature has."""
        return [self.context.cast(self.builder, self.loadvar(variable.name), self.typeof(variable.name), kind)
                for variable, kind in zip(variables, signature.args, strict=True)]


def is_of_item(context, array, index) -> bool:
    """True for an index of these types if it is that of one item of an array in C order."""
    indices = index.types if isinstance(index, types.BaseTuple) else (index,)
    return (isinstance(array, types.Array) and array.layout == "C" and array.ndim == len(indices)
            and not context.enable_boundscheck and all(isinstance(kind, types.Integer) for kind in indices))


def can_be_written(context, array, index, kind) -> bool:
    """True if a value of this type can be put into one item: a number into a number, a record into its like."""
    if not is_of_item(context, array, index):
        return False
    return (isinstance(array.dtype, types.Record) and kind == array.dtype
            or all(isinstance(one, types.Number | types.Boolean) for one in (array.dtype, kind)))


def place(context, builder, array, kind, value, index):
    """Address of an item; a negative index counts from the end."""
    single = not isinstance(kind, types.BaseTuple)
    kinds, indices = ((kind,), (index,)) if single else (kind.types, cgutils.unpack_tuple(builder, index, len(kind)))
    number = None
    for axis, (one, at) in enumerate(zip(kinds, indices, strict=True)):
        at = context.cast(builder, at, one, types.intp if one.signed else types.uintp)
        if one.signed and not (isinstance(at, ir.Constant) and at.constant >= 0):
            size = part(context, builder, array, value, "shape", axis)
            at = builder.select(builder.icmp_signed("<", at, at.type(0)), builder.add(at, size), at)
        number = at if number is None else builder.add(
            builder.mul(number, part(context, builder, array, value, "shape", axis)), at)
    return builder.gep(part(context, builder, array, value, "data"), [number])


def part(context, builder, array, value, name, *inner):
    """A field of the struct of an array, or an element of that field."""
    return builder.extract_value(value, [context.data_model_manager[array].get_field_position(name), *inner])


def order_blocks(listing) -> None:
    """Bring the blocks of a function into the order that Numba expects; lifetimes wait until they are asked for."""
    listing.blocks = transforms.canonicalize_cfg(listing.blocks)
    listing.variable_lifetime = postproc.VariableLifetime(listing.blocks)
    listing.generator_info = None


@register_pass(mutates_CFG=True, analysis_only=False)
class Order(untyped_passes.IRProcessing):
    """Numba's `IRProcessing` without lifetimes."""

    _name = "order"

    def run_pass(self, state):
        """Called by Numba for one function."""
        order_blocks(state.func_ir)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class Rewrite(untyped_passes.GenericRewrites):
    """Numba's `GenericRewrites` without lifetimes."""

    _name = "rewrite"

    def run_pass(self, state):
        """Called by Numba for one function."""
        for made in rewrite_registry.rewrites["before-inference"]:
            rewrite = made(state)
            blocks = state.func_ir.blocks
            for key in list(blocks):
                while rewrite.match(state.func_ir, blocks[key], state.typemap, state.calltypes):
                    blocks[key] = rewrite.apply()
        order_blocks(state.func_ir)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class SingleAssignment(untyped_passes.ReconstructSSA):
    """Numba's `ReconstructSSA` without lifetimes."""

    _name = "single_assignment"

    def run_pass(self, state):
        """Called by Numba for one function."""
        state.func_ir = reconstruct_ssa(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        order_blocks(state.func_ir)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class WithoutPhis(typed_passes.PreLowerStripPhis):
    """Numba's `PreLowerStripPhis` without lifetimes."""

    _name = "without_phis"

    def run_pass(self, state):
        """Called by Numba for one function."""
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        order_blocks(state.func_ir)
        return True


PASSES = (
    untyped_passes.TranslateByteCode, untyped_passes.FixupArgs, Order, untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune, Rewrite, untyped_passes.RewriteDynamicRaises, SingleAssignment,
    typed_passes.NopythonTypeInference, WithoutPhis, ItemLowering, typed_passes.NoPythonBackend)
"""Numba's passes without those for functions within one, loops over literals, `with`, inlining on request, expressions
of arrays, the end of variables (of which reference counting needs to know) and listings of types, which compiled
functions hardly ever have: a tenth of the time of translating."""


class Passes(PassManager):
    """Passes that run one after another; Numba would describe each to its listeners and look for mistakes after it."""

    def _runPass(self, _index, one, state):
        one.analysis = self._analysis
        one.run_initialization(state)
        one.run_pass(state)
        one.run_finalizer(state)


def plain_passes() -> Passes:
    """The passes of a function with plain loops."""
    passes = Passes("plain")
    for one in PASSES:
        passes.add_pass(one, one.__name__)
    passes.finalize()
    return passes
