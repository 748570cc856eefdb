"""Shortcuts through Numba's front end: the same results, and nothing where Numba has changed."""

import inspect
import operator
from functools import wraps

import numba
import numpy as np
import pytest
from llvmlite import ir as llvm
from numba import types
from numba.core import base, ir, postproc
from numba.core.compiler import run_frontend
from numba.core.registry import cpu_target

from simgrid_broker.compiled import shortcuts as home
from simgrid_broker.compiled.shortcuts import SHORTCUTS, fits, shortcuts

PLACE = ir.Loc("here", 1)


def test_every_shortcut_fits_this_version_of_numba():
    assert [name for owner, name, parameters, _ in SHORTCUTS if not fits(getattr(owner, name, None), parameters)] == []


def test_an_internal_that_numba_lacks_or_has_changed_stays_as_it_is(monkeypatch):
    def changed(fn, more):
        return False
    monkeypatch.setattr(base, "_has_loc", changed)
    monkeypatch.setattr(home, "SHORTCUTS", (*SHORTCUTS, (base, "no_such_thing", ("fn",), lambda original: original)))
    with shortcuts():
        assert base._has_loc is changed and not hasattr(base, "no_such_thing")


def test_numba_is_as_before_once_a_function_is_compiled():
    before = [getattr(owner, name) for owner, name, _, _ in SHORTCUTS]
    with pytest.raises(ZeroDivisionError), shortcuts():
        assert all(getattr(owner, name) is not old
                   for (owner, name, _, _), old in zip(SHORTCUTS, before, strict=True))
        raise ZeroDivisionError
    assert [getattr(owner, name) for owner, name, _, _ in SHORTCUTS] == before


def test_variables_of_an_instruction_are_listed_in_the_same_order():
    scope = ir.Scope(None, PLACE)
    a, b, c, d = (scope.define(name, PLACE) for name in "abcd")
    call = ir.Expr.call(a, (b, c), {"key": d}, PLACE)
    statements = [ir.Assign(call, a, PLACE), ir.SetItem(a, b, c, PLACE), ir.Return(d, PLACE),
                  ir.Assign(ir.Expr.build_map([(a, b), (c, d)], 2, {}, {}, PLACE), d, PLACE)]
    expected = [statement.list_vars() for statement in statements]
    with shortcuts():
        assert [statement.list_vars() for statement in statements] == expected


def test_whether_a_function_takes_its_location_is_seen_through_wrappers():
    def with_loc(context, *, loc=None):
        return loc

    def without(context, *loc):
        return loc

    @wraps(with_loc)
    def wrapped(*args):
        return with_loc(*args)
    for function in (with_loc, without, wrapped, inspect.signature):
        expected = base._has_loc(function)
        with shortcuts():
            assert base._has_loc(function) is expected


def counted(n):
    """Count to a number, or down from it."""
    total = 0
    while total < n:
        total += 1 if n > 0 else 2
    return total


def generated(n):
    """Yield twice a number."""
    x = 2 * n
    yield x
    yield x + n


def listed(function):
    """Numba's listing of a function, after its post-processor."""
    listing = run_frontend(function)
    postproc.PostProcessor(listing).run()
    return listing


@pytest.mark.parametrize("function", [counted, generated])
def test_a_listing_is_the_same_without_lifetimes(function):
    expected = listed(function)
    with shortcuts():
        found = listed(function)
    assert found.dump_to_string() == expected.dump_to_string()
    assert found.variable_lifetime.livemap == expected.variable_lifetime.livemap
    assert (found.generator_info is None) is (expected.generator_info is None) is (function is counted)


def test_lifetimes_of_a_generator_are_worked_out():
    with shortcuts():
        points = listed(generated).generator_info.get_yield_points()
    assert [sorted(point.live_vars) for point in points] == [
        sorted(point.live_vars) for point in listed(generated).generator_info.get_yield_points()]


def test_types_of_records_keep_their_names():
    one, other = (numba.from_dtype(np.dtype([("a", "i4"), (last, "f8")])) for last in "bc")
    expected = str(one), repr(one), str(other), repr(other)
    with shortcuts():
        assert (str(one), repr(one), str(other), repr(other)) == expected and repr(one) is repr(one) != repr(other)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="there is no target then")
def test_llvm_is_asked_for_the_size_of_a_type_once(monkeypatch):
    context, asked = cpu_target.target_context, []
    kinds = [llvm.LiteralStructType([llvm.IntType(8), llvm.IntType(64)]), llvm.ArrayType(llvm.DoubleType(), 12345)]
    expected = [context.get_abi_sizeof(kind) for kind in kinds]
    original = base.BaseContext.get_abi_sizeof
    monkeypatch.setattr(home, "_sizes", {})
    monkeypatch.setattr(home, "SHORTCUTS", ((base.BaseContext, "get_abi_sizeof", ("self", "ty"), lambda _: home.sizes(
        lambda self, ty: asked.append(ty) or original(self, ty))),))
    with shortcuts():
        assert [context.get_abi_sizeof(kind) for kind in (*kinds, *kinds)] == expected + expected == 2 * [16, 98760]
    assert asked == kinds


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="there is no target then")
def test_the_size_of_a_type_that_is_named_is_not_kept():
    one, other = (llvm.context.Context().get_identified_type("pair") for _ in range(2))
    one.set_body(llvm.IntType(64))
    other.set_body(llvm.IntType(64), llvm.IntType(64))
    with shortcuts():
        assert home.sizes(lambda _self, ty: 8 * len(ty.elements))(cpu_target.target_context, one) == 8
        assert home.sizes(lambda _self, ty: 8 * len(ty.elements))(cpu_target.target_context, other) == 16


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="Numba's own functions are then not loaded")
def test_a_call_of_an_operator_is_resolved_once():
    context = cpu_target.typing_context
    context.refresh()
    with shortcuts():
        function = context.resolve_value_type(operator.add)
        first = function.get_call_type(context, (types.int64, types.float64), {})
        assert function.get_call_type(context, (types.int64, types.float64), {}) is first
        assert first.return_type == types.float64
        assert function.get_call_type(context, (types.int64, types.int64), {}).return_type == types.int64
