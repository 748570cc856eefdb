"""Columns of records that are copied and compared by constant lists of names, as functions that Numba knows."""

from llvmlite import ir
from numba import types
from numba.core.typing import signature as typing_signature
from numba.extending import lower_builtin, type_callable


def copy_columns(source, target, names):
    """Copy columns of one record to another, where numbers are converted; names: a constant tuple."""
    for name in names:
        target[name] = source[name]


def copy_known(source, target, names):
    """Copy columns of one record to numbers of another, NaN in place of 0; names: a constant tuple."""
    for name in names:
        target[name] = source[name] if source[name] != 0 else float("nan")


def same_columns(one, other, names):
    """True if two records agree in columns of the same types; names: a constant tuple."""
    return all(one[name] == other[name] for name in names)


def _typed(function, result):
    """Tell Numba the type of what a function of two records and constant names returns."""
    @type_callable(function)
    def make(_context):
        def typer(one, other, names):
            known = isinstance(names, types.BaseTuple) and all(isinstance(n, types.StringLiteral) for n in names.types)
            return result if known else None
        return typer


_typed(copy_columns, types.none)
_typed(copy_known, types.none)
_typed(same_columns, types.boolean)


@lower_builtin(copy_columns, types.Record, types.Record, types.BaseTuple)
def _copy_columns(context, builder, signature, args):
    source, target, names = signature.args
    for name in names.types:
        write_column(context, builder, target, args[1], name.literal_value, source.typeof(name.literal_value),
                     read_column(context, builder, source, args[0], name.literal_value))
    return context.get_dummy_value()


@lower_builtin(copy_known, types.Record, types.Record, types.BaseTuple)
def _copy_known(context, builder, signature, args):
    source, target, names = signature.args
    for name in names.types:
        value = read_column(context, builder, source, args[0], name.literal_value)
        number = context.cast(builder, value, source.typeof(name.literal_value), types.float64)
        is_zero = builder.fcmp_ordered("==", number, number.type(0.0))
        write_column(context, builder, target, args[1], name.literal_value, types.float64,
                     builder.select(is_zero, number.type(float("nan")), number))
    return context.get_dummy_value()


@lower_builtin(same_columns, types.Record, types.Record, types.BaseTuple)
def _same_columns(context, builder, signature, args):
    same = context.get_constant(types.boolean, True)
    for name in signature.args[2].types:
        one, other = (read_column(context, builder, record, value, name.literal_value)
                      for record, value in zip(signature.args[:2], args[:2], strict=True))
        compare = builder.icmp_signed if isinstance(one.type, ir.IntType) else builder.fcmp_ordered
        same = builder.and_(same, compare("==", one, other))
    return same


def read_column(context, builder, record, address, name):
    """The number in a column of a record."""
    return context.get_getattr(record, name)(context, builder, record, address, name)


def write_column(context, builder, record, address, name, kind, value):
    """Put a number of some kind into a column of a record, converted."""
    context.get_setattr(name, typing_signature(types.none, record, kind))(builder, (address, value))
