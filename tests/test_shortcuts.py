"""Shortcuts through Numba's front end: the same results, and nothing where Numba has changed."""

import inspect
import operator
from functools import wraps

import numba
import pytest
from numba import types
from numba.core import base, ir
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
