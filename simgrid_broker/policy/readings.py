"""Keys of gdpconfig, attributes of queues and parameters of tasks that a rule reads, as its code names them."""

from collections.abc import Callable, Iterator, Mapping
from dis import get_instructions
from functools import cache
from itertools import pairwise
from types import FunctionType
from typing import Any

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import Component, GdpconfigKey
from simgrid_broker.policy.brokerage.analysis import question as of_analysis
from simgrid_broker.policy.brokerage.production import question as of_jobs
from simgrid_broker.policy.brokerage.task import question as of_tasks
from simgrid_broker.views import QUEUE_ATTRIBUTES, STORAGE_ATTRIBUTES, TASK_FIELDS

TASK_PARAMETERS = {name: (column.key,) for name, column in TASK_FIELDS.items() if column.key}
"""Parameters of a task in a scenario, by their names in a view."""
CORES, OF_QUEUES = "corecount", ("queue", "queues")
"""A name that tasks and queues share, and what a queue's follows in code."""
NUMBERS_COUNTED = {"cap", "backlog"}
"""Job numbers that a brokerage counts with keys of its own."""


@cache
def read_by(function: Callable, edition: str, count: Callable | None = None) -> dict[str, list[str]]:
    """Settings that a rule reads: names of keys of gdpconfig, attributes of queues and storages, parameters of tasks.

    count: the function that fills in the job numbers of a candidate, whose keys count for a rule that compares them.
    """
    words = set(_words(function))
    keys = {entry.key: entry for entry in keys_named(function, edition)}
    if count is not None and words & NUMBERS_COUNTED:
        keys |= {entry.key: entry for entry in keys_named(count, edition)}
    attributes: dict[str, Mapping[str, tuple[str, ...]]] = {
        "queue": QUEUE_ATTRIBUTES, "storage": STORAGE_ATTRIBUTES, "task": TASK_PARAMETERS}
    return {"keys": list(keys), **{what: sorted({key for word in words & names.keys() for key in names[word]})
                                   for what, names in attributes.items()}}


def _words(function: Callable) -> Iterator[str]:
    """Names and texts in the code of a function, and of what it calls as part of it."""
    written = plain(function)
    for code in _codes(written.__code__):
        yield from code.co_names
        if CORES in code.co_names:
            read = [step.argval for step in get_instructions(code)]
            yield from (f"queues.{CORES}" for pair in pairwise(read) if pair in ((of, CORES) for of in OF_QUEUES))
        yield from (text for text in code.co_consts if isinstance(text, str) and text.isidentifier())
        called = (written.__globals__.get(name) for name in code.co_names)
        for thing in {id(plain(thing)): thing for thing in called}.values():
            is_part = isinstance(plain(thing), FunctionType) and plain(thing) is not written
            if is_part and (plain(thing).__name__[0] == "_" or asks_a_record(plain(thing))):
                yield from _words(thing)


def keys_named(function: Callable, edition: str) -> Iterator[GdpconfigKey]:
    """Keys that a function names, as keys of a component or as columns of a task's record that the edition leaves open.

    Private functions, and others of a task's record, count as part of the function that uses them.
    """
    written = plain(function)
    codes = list(_codes(written.__code__))
    names = [name for code in codes for name in code.co_names]
    if asks_a_record(written):
        columns = dict.fromkeys(text for code in codes for text in code.co_consts if isinstance(text, str))
        keys, terms = _columns_of(written)
        yield from (keys[column] for column in columns if column in keys and column not in terms[edition])
    for name in names:
        thing = written.__globals__.get(name)
        if isinstance(thing, type) and issubclass(thing, Component):
            yield from (entry for entry in map(vars(thing).get, names) if isinstance(entry, GdpconfigKey))
        elif isinstance(thing, ByEdition):
            fields = getattr(thing[edition], "_fields", None)
            for term in (thing[edition],) if fields is None else (
                    getattr(thing[edition], field) for field in fields if field in names):
                yield from (term,) if isinstance(term, GdpconfigKey) else ()
                yield from keys_named(term, edition) if isinstance(term, FunctionType) else ()
        elif isinstance(thing, tuple):
            yield from (entry for entry in thing if isinstance(entry, GdpconfigKey))
        elif (isinstance(plain(thing), FunctionType) and (name[0] == "_" or asks_a_record(plain(thing)))
              and plain(thing) is not written):
            yield from keys_named(thing, edition)


def _columns_of(function: FunctionType) -> tuple[dict[str, GdpconfigKey], dict[str, dict]]:
    """Keys of gdpconfig by column of a task's record, and the columns that each edition sets for good."""
    others = (question for question in (of_tasks, of_analysis)
              if function.__module__.startswith(question.__package__ or ""))
    question = next(others, of_jobs)
    return question.KEYS, question.TERMS


def asks_a_record(function: FunctionType) -> bool:
    """True if a function is given the record of a task, in which keys of gdpconfig are columns."""
    arguments = function.__code__.co_varnames[:function.__code__.co_argcount]
    return "task" in arguments and not {"cfg", "cache"} & set(arguments)


def plain(thing: object) -> Any:
    """A compiled function as it was written; anything else unchanged."""
    return getattr(thing, "py_func", thing)


def _codes(code) -> Iterator:
    """A code object and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            yield from _codes(constant)
