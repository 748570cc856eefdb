"""Every number of a scenario and a snapshot has a range."""

import typing

import annotated_types
import pytest
from pydantic import BaseModel

from simgrid_broker.scenario.model import Agents, Scenario
from simgrid_broker.scenario.snapshot import Snapshot

LOWEST = (annotated_types.Ge, annotated_types.Gt, annotated_types.Interval)
HIGHEST = (annotated_types.Le, annotated_types.Lt, annotated_types.Interval)
PARTS = ("%", "fraction of", "probability")
"""Words of descriptions of numbers that cannot exceed a whole."""

WITHOUT_RANGE = {
    "Incident.task": "a number or a name; `task_of_command` and the world's `only_tasks_that_come` check it",
    "Record.tasks": "a number or a name; the world's `only_tasks_that_come` checks it",
    "OwnerNumbers.rem_slots_A": "a difference, below 0 for users with more slots than the threshold",
    "WorkQueue.order": "only the order of the numbers matters, and PanDA's QUEUE_ORDER has any",
    "RetryRule.errorcode": "a code, not an amount; those that jobs have are checked by `unknown_error`",
    "ErrorClass.error_code": "a code, not an amount; those that jobs have are checked by `unknown_error`"}
"""Numbers without a range, each with the reason; no table holds more than `LARGEST_WHOLE`."""


def parts(kind):
    """A type and all types inside it."""
    yield kind
    for inner in typing.get_args(kind):
        yield from parts(inner)


def models(model, found):
    """All models that are reached from one, itself included."""
    if model not in found:
        found.append(model)
        for field in model.model_fields.values():
            for kind in parts(field.annotation):
                if isinstance(kind, type) and issubclass(kind, BaseModel):
                    models(kind, found)
    return found


NUMBERS = {f"{model.__name__}.{name}": field for whole in (Scenario, Snapshot) for model in models(whole, [])
           for name, field in model.model_fields.items()
           if any(kind in (int, float) for kind in parts(field.annotation))}


def limits(field):
    """Limits that a field or a type inside it has."""
    found = list(field.metadata)
    for kind in parts(field.annotation):
        for each in getattr(kind, "__metadata__", ()):
            found += [each, *getattr(each, "metadata", ())]
    return found


def test_numbers_have_a_lower_limit_or_a_reason_for_none():
    without = {name for name, field in NUMBERS.items() if not any(isinstance(limit, LOWEST) for limit in limits(field))}
    assert without == WITHOUT_RANGE.keys()


def test_parts_of_a_whole_have_an_upper_limit():
    of_a_whole = {name: field for name, field in NUMBERS.items()
                  if any(word in (field.description or "").lower() for word in PARTS)}
    assert of_a_whole
    assert [name for name, field in of_a_whole.items()
            if not any(isinstance(limit, HIGHEST) for limit in limits(field))] == []


DELAYS = ("pilot_startup", "empty_pilot", "first_update")
"""Times of pilots, in which no agent wakes."""


@pytest.mark.parametrize(("seconds", "accepted"), [
    pytest.param(1, True, id="one second"), pytest.param(0.999, False, id="less than a second")])
def test_agents_wake_at_most_once_a_second(seconds, accepted):
    periods = [name for name in Agents.model_fields if name not in ("own", *DELAYS)]
    assert [name for name in periods if _accepts({name: seconds}) != accepted] == []


def test_pilots_may_take_no_time():
    assert [name for name in DELAYS if not _accepts({name: 0}) or _accepts({name: -0.001})] == []


def _accepts(values):
    try:
        Agents(**values)
    except ValueError:
        return False
    return True
