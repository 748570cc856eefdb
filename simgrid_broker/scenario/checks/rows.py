"""Checks that the rows of a scenario or a snapshot carry: names of things, keys that need others, limits, editions."""

from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatchcase
from functools import cache
from itertools import islice
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from simgrid_broker.editions import family_of
from simgrid_broker.errors import Problem, nearest
from simgrid_broker.names import KNOWN_RESOURCE_TYPES
from simgrid_broker.scenario.checks.grid import EVENTS_ALONE
from simgrid_broker.scenario.loading.origins import Finding, Key, Whole, dotted
from simgrid_broker.scenario.loading.validate import is_part
from simgrid_broker.scenario.shares import PARTITION, leaf_names, queue_names, shares_with_keys
from simgrid_broker.scenario.work.campaigns import owner_names
from simgrid_broker.scenario.work.input_files import dataset_names
from simgrid_broker.schema.part import ActsIn, Answer, AtMost, Constraint, Needs, Refers

THINGS: dict[str, Callable[[Any], Collection[str]]] = {
    "site": lambda whole: whole.grid.sites,
    "queue": lambda whole: whole.grid.queues,
    "storage": lambda whole: whole.grid.data_storages,
    "object store": lambda whole: [name for name, one in whole.grid.storages.items() if one.is_object_store],
    "DDM endpoint": lambda whole: whole.grid.storages,
    "backbone": lambda whole: whole.grid.links.backbones,
    "region": lambda whole: sorted({site.region for site in whole.grid.sites.values()} - {""}),
    "share": lambda whole: [share.name for _, share in shares_with_keys(whole.shares_in_use)],
    "leaf share": leaf_names,
    "resource type": lambda whole: whole.resource_types,
    "resource type of PanDA": lambda whole: KNOWN_RESOURCE_TYPES,
    "campaign": lambda whole: [campaign.name for campaign in whole.workload.campaigns],
    "dataset": lambda whole: dataset_names(whole.data),
    "container of datasets": lambda whole: whole.data.containers,
    "work queue with criteria": lambda whole: queue_names(whole.work_queues),
    "partition": lambda whole: [queue.name for queue in whole.work_queues if queue.function == PARTITION],
    "user or working group": lambda whole: owner_names(whole.workload) or whole.accounts,
}
"""Names of the things that are there, by the kind that `Refers` names."""

MOST_NAMES = 200
"""Names that are compared with an unknown one."""



Fault = tuple[str, tuple[str, ...]] | None
"""Expectation that a value does not meet, and nearest names; None if it meets it."""


def constraints_of_rows(whole: Whole) -> Iterator[Finding]:
    """Values that are refused because they break a constraint of their row."""
    return broken(whole, "refuse")


def remarks_of_rows(whole: Whole) -> Iterator[Problem]:
    """Values that break a constraint of their row and are read as PanDA reads them, where they are written."""
    for finding in broken(whole, "remark"):
        key = dotted(finding.key)
        yield whole.origin(key).problem(key, finding.value, finding.expected, finding.nearest)


def broken(whole: Whole, answer: Answer) -> Iterator[Finding]:
    """A finding for each value that breaks a constraint with this answer."""
    faults = Faults(whole)
    for key, mark, value, part in constraints_in(whole):
        if mark.answer == answer and (fault := faults.of(key, mark, value, part)) is not None:
            yield Finding(key, None if isinstance(value, (dict, tuple)) else str(value) if isinstance(value, Path)
                          else value, *fault, thing=mark.to if isinstance(mark, Refers) else "")


class Faults:
    """The faults of values in one scenario or snapshot; the names of its things are listed once."""

    def __init__(self, whole: Any):
        self.whole = whole
        self._names: dict[str, Collection[str]] = {}

    def of(self, key: Key, mark: Constraint, value: Any, part: Any) -> Fault:
        """The fault of the value of a key; part: the part of the scenario that has the key, None of names in lists."""
        if isinstance(mark, Refers):
            return self._missing(key, mark, value)
        name = key[-1]
        if value in (None, "", (), {}) or value == type(part).model_fields[name].get_default(call_default_factory=True):
            return None
        if isinstance(mark, Needs) and not getattr(part, mark.key):
            reason = f": {mark.why}" if mark.why else ""
            return (f"needs `{mark.key}`{reason}" if mark.answer == "refuse" else
                    f"has no effect without {mark.key}{reason}"), ()
        if isinstance(mark, AtMost) and (most := getattr(part, mark.key)) is not None and value > most:
            return f"must not exceed {mark.key}, {most}", ()
        if isinstance(mark, ActsIn) and family_of(self.whole.edition) != mark.edition:
            return f"has no effect: only the {mark.edition} edition reads it", ()
        return None

    def _missing(self, key: Key, mark: Refers, name: str) -> Fault:
        """The fault of a name of nothing."""
        if mark.to not in self._names:
            self._names[mark.to] = THINGS[mark.to](self.whole)
        names = self._names[mark.to]
        if name in names or mark.patterns and "*" in name and any(fnmatchcase(one, name) for one in names):
            return None
        is_endpoint = mark.to == "queue" and "site" in key and name in self.whole.grid.storages
        hint = "; a DDM endpoint is given as siteEndpoint" if is_endpoint else ""      # PanDA allows either as `site`
        if mark.to == "storage" and name in self.whole.grid.storages:
            return EVENTS_ALONE, ()
        return (mark.expected or f"unknown {mark.to}") + hint, nearest(name, [*islice(names, MOST_NAMES)])


def constraints_in(value: Any, kind: Any = None, marks: tuple[Constraint, ...] = (), key: Key = (),
                   part: Any = None) -> Iterator[tuple[Key, Constraint, Any, Any]]:
    """Key, constraint, value and part, for every constraint on a value of type `kind` and on what is inside of it."""
    if value is None:
        return
    yield from ((key, mark, value, part) for mark in marks)
    if isinstance(value, BaseModel):
        for name, inside, marks in _fields(type(value)):
            yield from constraints_in(getattr(value, name), inside, marks, (*key, name), value)
    elif not value:
        return
    elif isinstance(value, dict) and get_args(kind):
        of_name, of_value = map(_split, get_args(kind))
        for name, inner in value.items():
            yield from constraints_in(name, *of_name, (*key, name))
            yield from constraints_in(inner, *of_value, (*key, name))
    elif isinstance(value, tuple) and get_args(kind):
        of_element = _split(get_args(kind)[0])
        for position, inner in enumerate(value):
            yield from constraints_in(inner, *of_element, (*key, position))


@cache
def _fields(model: type[BaseModel]) -> tuple[tuple[str, Any, tuple[Constraint, ...]], ...]:
    """The fields of a part that have constraints or may hold values with some, as name, type and constraints."""
    fields = ((name, *_split(Annotated[field.annotation, None, *field.metadata]))
              for name, field in model.model_fields.items())
    return tuple((name, kind, marks) for name, kind, marks in fields if marks or is_part(kind)
                 or any(of_inner or is_part(inner) for inner, of_inner in map(_split, get_args(kind))))


def _split(kind: Any) -> tuple[Any, tuple[Constraint, ...]]:
    """A type without None and annotations, and the constraints on a value of it."""
    marks: tuple[Constraint, ...] = ()
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind, *others = get_args(kind)
        marks += tuple(mark for mark in others if isinstance(mark, Constraint))
    return kind, marks
