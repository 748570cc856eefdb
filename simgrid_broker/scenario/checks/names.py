"""Check of the names in a scenario or a snapshot: the thing that a key of type SiteName and the like names is there."""

from collections.abc import Callable, Collection, Iterator
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.loading.origins import Finding, Whole
from simgrid_broker.scenario.loading.validate import is_part
from simgrid_broker.scenario.shares import leaf_names, queue_names, shares_with_keys
from simgrid_broker.scenario.work.data import dataset_names
from simgrid_broker.schema.named import Named

KNOWN: dict[str, Callable[[Any], Collection[str]]] = {
    "site": lambda whole: whole.grid.sites,
    "queue": lambda whole: whole.grid.queues,
    "storage": lambda whole: whole.grid.storages,
    "backbone": lambda whole: whole.grid.links.backbones,
    "share": lambda whole: [share.name for _, share in shares_with_keys(whole.shares_in_use)],
    "leaf share": leaf_names,
    "resource type": lambda whole: whole.resource_types,
    "campaign": lambda whole: [campaign.name for campaign in whole.workload.campaigns],
    "dataset": lambda whole: dataset_names(whole.data),
    "container of datasets": lambda whole: whole.data.containers,
    "work queue with criteria": lambda whole: queue_names(whole.work_queues),
}
"""What is there, by what a `Named` type names."""


def unknown_name(whole: Whole) -> Iterator[Finding]:
    """Whatever a key names is there."""
    known: dict[str, Collection[str]] = {}
    for key, what, name in names_in(whole):
        if what not in known:
            known[what] = KNOWN[what](whole)
        if name not in known[what]:
            yield Finding(key, name, f"unknown {what}{_hint(whole, key, what, name)}", nearest(name, known[what]))


def _hint(whole: Whole, key: tuple, what: str, name: str) -> str:
    """What to say of a DDM endpoint that a task names as its queue, as PanDA allows; empty otherwise."""
    is_endpoint = what == "queue" and "site" in key and name in KNOWN["storage"](whole)
    return "; a DDM endpoint is given as siteEndpoint" if is_endpoint else ""


def names_in(value: Any, kind: Any = None, what: str | None = None,
             key: tuple = ()) -> Iterator[tuple[tuple, str, str]]:
    """Key, what it names, and the name, of every name in a value of type `kind`, which itself names a `what`."""
    if isinstance(value, BaseModel):
        for name, kind, what in _fields(type(value)):
            yield from names_in(getattr(value, name), kind, what, (*key, name))
    elif what is not None and value is not None:
        yield key, what, value
    elif isinstance(value, dict):
        of_name, of_value = map(_split, get_args(kind))
        for name, inner in value.items():
            yield from names_in(name, *of_name, (*key, name))
            yield from names_in(inner, *of_value, (*key, name))
    elif isinstance(value, tuple):
        of_element = _split(get_args(kind)[0])
        for position, inner in enumerate(value):
            yield from names_in(inner, *of_element, (*key, position))


@cache
def _fields(model: type[BaseModel]) -> tuple[tuple[str, Any, str | None], ...]:
    """The fields of a part that may hold names, as name, type and what it names."""
    fields = ((name, *_split(Annotated[field.annotation, None, *field.metadata]))
              for name, field in model.model_fields.items())
    return tuple((name, kind, what) for name, kind, what in fields if what or is_part(kind)
                 or any(named or is_part(inner) for inner, named in map(_split, get_args(kind))))


def _split(kind: Any) -> tuple[Any, str | None]:
    """A type without None and annotations, and what a text of it names."""
    what = None
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind, *others = get_args(kind)
        what = what or next((mark.what for mark in others if isinstance(mark, Named)), None)
    return kind, what
