"""Arrays that compiled code is handed together, as one pointer, and `fetch`, which asks for a row ahead of time.

A named tuple of the same arrays would do the same with less machinery, but compiled code passes it by value: fifty
arrays are 350 words that every call from Python takes apart. `scripts/benchmark.py handover` measures both: with
fifty arrays a call from Python costs 0.6 us as a bundle and 6.4 us as a named tuple, and translating two small
functions takes 0.4 s and 1.2 s; within compiled code, where calls are inlined, there is no difference (1.6 ns).

The bundle reads Numba's own struct of an array, so it depends on Numba's internals: `pyproject.toml` bounds Numba to
the versions that were tried.
"""

import hashlib
from ctypes import c_size_t
from functools import cache, cached_property
from typing import Self

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models, register_default
from numba.core.pythonapi import NativeValue
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, overload, unbox
from numba.np import numpy_support

LINE = 64
"""Bytes that a processor fetches at once."""
FIXED_WORDS = 5
"""Words of an array before its shape and its strides: two that stay empty, number and size of items, address."""
HEAD = object.__basicsize__
"""Bytes of the head of every object of CPython."""


def zeros_in_lines(shape: int | tuple[int, ...], dtype) -> np.ndarray:
    """Zeros, the first of which begins a line: rows of whole lines share none, and each takes as few as it can."""
    shape, dtype = (shape,) if isinstance(shape, int) else shape, np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(size + LINE, np.uint8)
    first = -raw.ctypes.data % LINE
    return raw[first:first + size].view(dtype).reshape(shape)


class Bundle:
    """Arrays by name, in C order, which a subclass lists as annotations; compiled code reads them as attributes.

    A bundle may stand among them, of which compiled code gets the address. Raises TypeError for an array that is
    missing, unknown, or not in C order.
    """

    def __init__(self, **arrays):
        names = tuple(type(self).__annotations__)
        if set(arrays) != set(names):
            raise TypeError(f"{type(self).__name__} has the arrays {', '.join(names)}; these are missing or unknown: "
                            f"{', '.join(sorted(set(arrays) ^ set(names)))}")
        self.__dict__.update(_in_order(type(self).__name__, arrays))

    def arrays(self) -> "dict[str, np.ndarray | Bundle]":
        """The arrays, and bundles, by name."""
        return {name: getattr(self, name) for name in type(self).__annotations__}

    def with_arrays(self, **changes: "np.ndarray | Bundle") -> Self:
        """A copy with some arrays replaced; what compiled code reads of the others is not worked out again."""
        known, names, made = vars(self), type(self).__annotations__, object.__new__(type(self))
        if unknown := changes.keys() - names.keys():
            raise TypeError(f"{type(self).__name__} has no arrays {', '.join(sorted(unknown))}")
        own = vars(made)
        own.update(known)
        own.update(_in_order(type(self).__name__, changes))
        own.pop("address", None)
        words, _ = own.pop("words", None), own.pop("_numba_type_", None)
        if words is not None and all(column_of(array) == column_of(known[name]) for name, array in changes.items()):
            words, kind = words.copy(), self._numba_type_
            for name, array in changes.items():
                place, of_array = kind.fields[name][1], words_of(array)
                words[place:place + len(of_array)] = of_array
            own.update(words=words, _numba_type_=kind)
        return made

    @cached_property
    def words(self) -> np.ndarray:
        """Words that compiled code reads: those of Numba's struct of an array, one array behind the other."""
        return np.array([word for array in self.arrays().values() for word in words_of(array)], np.int64)

    @cached_property
    def address(self) -> int:
        """Where the words stand."""
        return address_of(self.words)

    @cached_property
    def _numba_type_(self) -> "BundleType":              # by this name Numba looks for it, before all else
        return bundle_type(type(self).__name__, tuple(
            (name, *column_of(array)) for name, array in self.arrays().items()))


def _in_order(kind: str, arrays: dict[str, np.ndarray | Bundle]) -> dict[str, np.ndarray | Bundle]:
    """The arrays, all of which must be in C order."""
    for name, array in arrays.items():
        if not (isinstance(array, Bundle) or array.flags.c_contiguous):
            raise TypeError(f"{kind}.{name} is not in C order")
    return arrays


def column_of(array: np.ndarray | Bundle) -> tuple:
    """Type of the items of an array and its number of dimensions; type of a bundle, and none."""
    return (array._numba_type_, None) if isinstance(array, Bundle) else (array.dtype, array.ndim)


def words_of(array: np.ndarray | Bundle) -> tuple[int, ...]:
    """The words of Numba's struct of an array; the address of a bundle."""
    if isinstance(array, Bundle):
        return (array.address,)
    return 0, 0, array.size, array.itemsize, address_of(array), *array.shape, *array.strides


def address_of(array: np.ndarray) -> int:
    """Address of the first item: NumPy's C interface fixes that it stands behind the head that every object has.

    `array.ctypes.data` says the same in fifteen times the time, which is most of what a new bundle costs.
    """
    return c_size_t.from_address(id(array) + HEAD).value


class BundleType(types.Type):
    """Numba's type of a bundle; fields: type of each array, or bundle, by name, and the place of its first word."""

    def __init__(self, name: str, fields: tuple):
        self.fields, place = {}, 0
        for field, array_type in fields:
            self.fields[field] = array_type, place
            place += 1 if isinstance(array_type, BundleType) else FIXED_WORDS + 2 * array_type.ndim
        digest = hashlib.sha256(repr(fields).encode()).hexdigest()[:16]      # names of functions stay short
        super().__init__(f"{name}.{digest}")


@cache
def bundle_type(name: str, columns: tuple) -> BundleType:
    """Type of the bundles of one class; columns: name of each array, and as `column_of`."""
    return BundleType(name, tuple(
        (field, kind if ndim is None else types.Array(numpy_support.from_dtype(kind), ndim, "C"))
        for field, kind, ndim in columns))


@register_default(BundleType)
class BundleModel(models.OpaqueModel):
    """A bundle in compiled code: an address."""


@unbox(BundleType)
def _take_address(_type, bundle, context):
    number = context.pyapi.object_getattr_string(bundle, "address")
    address = context.pyapi.long_as_voidptr(number)
    context.pyapi.decref(number)
    return NativeValue(address)


@infer_getattr
class BundleAttributes(AttributeTemplate):
    """Attributes of a bundle: its arrays and bundles."""

    key = BundleType

    def generic_resolve(self, bundle, name):
        """Type of an array, or of a bundle."""
        return bundle.fields[name][0] if name in bundle.fields else None


@lower_getattr_generic(BundleType)
def _read_array(context, builder, bundle, value, name):
    """Read the address of a bundle, or the words of an array; they never change while compiled code runs.

    So those not needed are not read. In C order the last stride is the size of an item, and an array of one dimension
    has as many items as it is long.
    """
    array_type, place = bundle.fields[name]
    words = builder.bitcast(value, ir.IntType(64).as_pointer())

    def word(offset, kind=None):
        address = builder.gep(words, [ir.Constant(ir.IntType(64), place + offset)])
        loaded = builder.load(builder.bitcast(address, kind.as_pointer()) if kind else address)
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded
    if isinstance(array_type, BundleType):
        return word(0, cgutils.voidptr_t)
    model, ndim = context.data_model_manager[array_type], array_type.ndim
    struct, size = model.get_value_type(), context.get_abi_sizeof(context.get_data_type(array_type.dtype))

    def length(axis):
        loaded = word(FIXED_WORDS + axis)
        loaded.set_metadata("range", builder.module.add_metadata([loaded.type(0), loaded.type(2**63 - 1)]))
        return loaded
    lengths = [length(axis) for axis in range(ndim)]
    parts = [("itemsize", ir.Constant(ir.IntType(64), size)),
             ("data", word(4, struct.elements[model.get_field_position("data")])),
             ("nitems", lengths[0] if ndim == 1 else word(2)),
             *((("shape", k), lengths[k]) for k in range(ndim)),
             *((("strides", k), word(FIXED_WORDS + ndim + k)) for k in range(ndim - 1)),
             (("strides", ndim - 1), ir.Constant(ir.IntType(64), size))]
    array = ir.Constant(struct, None)
    for name_of_part, content in parts:
        first, *inner = (name_of_part,) if isinstance(name_of_part, str) else name_of_part
        array = builder.insert_value(array, content, [model.get_field_position(first), *inner])
    return array


def fetch(array, row, size):
    """Ask the processor for the first `size` bytes of a row that compiled code will want soon; changes nothing.

    Rows of jobs are spread over hundreds of megabytes: to wait for them takes longer than to do what is to be done.
    """


@overload(fetch)
def _fetch(array, row, size):
    def ask(array, row, size):
        for offset in range(0, size, LINE):
            _fetch_line(array, row, offset)
    return ask


@intrinsic
def _fetch_line(_context, array, row, offset):
    """Emit LLVM's prefetch, for reading and writing, into all caches."""
    def emit(context, builder, signature, args):
        struct = context.make_array(array)(context, builder, args[0])
        number = context.cast(builder, args[1], signature.args[1], types.int64)
        place = builder.add(builder.mul(number, builder.extract_value(struct.strides, 0)), args[2])
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] + 3 * [ir.IntType(32)])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        data = builder.gep(builder.bitcast(struct.data, cgutils.voidptr_t), [place])
        builder.call(prefetch, [data, *(ir.Constant(ir.IntType(32), flag) for flag in (1, 3, 1))])
        return context.get_dummy_value()
    return types.void(array, row, types.int64), emit
