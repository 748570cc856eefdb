"""Kinds of tasks: what brokers know of a task beside its numbers is the same for all tasks of a kind.

Two tasks are of a kind if all their words are the same, and all else that static rules of a brokerage look at. Arrays
that are the same for many tasks are the rows of one table.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.policy.rule import RuleFunction
from simgrid_broker.schema import TASKS
from simgrid_broker.views import TASK_FIELDS
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.views.tasks import WORDS, offset_of

UNKNOWN, ONE_TASK = -1, 0
"""Kinds: Python has to describe the task; it has just done so, and for this task alone."""
ANYWHERE = 0
"""Number of the place of jobs whose kind does not depend on where their input is."""
ROOM, N_HEADS = 1024, 4096
"""Most kinds, which are all forgotten when they are used up; places among which their keys are spread."""
PRIME = 1_000_003
OTHERS = {"gshare": "share", "preassigned": "preassigned", "job_cloning": "eventservice"}
"""Fields of a task that are no column of its sheet, and the columns from which they follow."""
MARKED = {"is_scout", "cputimeunit"}
"""Fields that follow from the mark of a task."""
CONSTANT = {"is_merging", "premerge", "mergecorecount", "mergeramcount", "jumbo_events", "jumbo_chunk",
            "walltimeunit"}
"""Fields that are the same for all tasks of which kinds are known."""

KIND = np.dtype([("first", "i4"), ("other", "i4")])
"""Rows of the table of first refusals, and of that of static weights, or of marks in analysis brokerage."""


class Kinds(Bundle):
    """The kinds known so far."""

    raw: np.ndarray                # (n_tasks, bytes of a row), the table of tasks
    places: np.ndarray             # (n_bytes,), bytes of a row in which tasks of one kind are equal
    heads: np.ndarray              # (N_HEADS,) kinds by their keys, UNKNOWN = none
    keys: np.ndarray               # (ROOM, n_bytes), these bytes
    marks: np.ndarray              # (ROOM,), as `mark_of`
    known: np.ndarray              # (ROOM,) of KIND
    templates: np.ndarray          # (ROOM,) of the brokerage's TASK: the record of one task of the kind


@compiled
def kind_of(world: Arrays, kinds, row, level, place):
    """Kind of the task in a row; UNKNOWN for inputs at a raised level of ramCount, and for tasks with jumbo jobs.

    place: number of what else tells kinds apart, as the place of the input of merge jobs; ANYWHERE = nothing.
    """
    if level > 0 or world.tasks[row]["n_jumbo_jobs"] > 0:
        return UNKNOWN
    return kinds.heads[head_of(world, kinds, row, mark_of(world, row, place))]


@compiled
def mark_of(world: Arrays, row, place):
    """Number of what tells the kind of a task from others beside bytes of its row."""
    said = (1 if world.scout_inputs[row] != 0 else 0) + (2 if world.tasks[row]["walltime_s_per_mib"] > 0 else 0)
    return np.int64(4 * place + said)


mark_of_task = uncompiled(mark_of)
"""As `mark_of`, for Python."""


@compiled
def head_of(world: Arrays, kinds, row, mark):
    """Where in `heads` the kind of a task with a mark is, or belongs."""
    code = mark % PRIME
    for k in range(len(kinds.places)):
        code = (code * 31 + np.int64(kinds.raw[row, kinds.places[k]])) % PRIME
    place = code % len(kinds.heads)
    while kinds.heads[place] != UNKNOWN and not is_of(kinds, kinds.heads[place], row, mark):
        place = (place + 1) % len(kinds.heads)
    return place


@compiled
def is_of(kinds, kind, row, mark):
    """Test for a task of a kind."""
    if kinds.marks[kind] != mark:
        return False
    for k in range(len(kinds.places)):
        if kinds.keys[kind, k] != kinds.raw[row, kinds.places[k]]:
            return False
    return True


class TaskKinds:
    """The kinds of the tasks of a run under one brokerage; tables: what is known of them.

    rules: those that look at descriptions alone; record: dtype of the record of a task; read: fields that the broker
    reads beside theirs, which are the same for all tasks of a run where they are no columns.
    """

    def __init__(self, rules: Iterable[RuleFunction], tasks: np.ndarray, record: np.dtype,
                 read: Iterable[str] = ()):
        asked = {*read, *(field for rule in rules for field in rule.rule.static or ())}
        self.are_known, self.record = asked <= {*TASK_FIELDS, *OTHERS, *MARKED, *CONSTANT, *read}, record
        columns = {*(TASK_FIELDS[name].name for name in (*WORDS, *(asked & TASK_FIELDS.keys()))),
                   *OTHERS.values(), "uselocalio"}
        places = [offset_of(TASKS.dtype, name) + byte
                  for name in sorted(columns) for byte in range(TASKS.dtype[name].itemsize)]
        self.places = np.array(places, np.int64)
        self.forget(tasks)

    def forget(self, tasks: np.ndarray) -> None:
        """Forget all kinds; tasks: the table."""
        self.n, self.tasks = 1, tasks
        self.tables = Kinds(
            raw=raw_of(tasks), places=self.places, heads=np.full(N_HEADS, UNKNOWN, np.int32),
            keys=np.zeros((ROOM, len(self.places)), np.uint8), marks=np.zeros(ROOM, np.int64),
            known=np.zeros(ROOM, KIND), templates=np.zeros(ROOM, self.record))

    def renew(self, tasks: np.ndarray) -> None:
        """Look at this table of tasks from now on."""
        if tasks is not self.tasks:
            self.tasks, self.tables = tasks, self.tables.with_arrays(raw=raw_of(tasks))

    def add(self, arrays: Arrays, row: int, level: int, record: np.ndarray, rows: tuple[int, int],
            place: int = ANYWHERE) -> int:
        """Describe a task, and all of its kind if it has one, by its record, (1,); rows: of KIND; place: as `kind_of`.

        Returns the kind.
        """
        kind, tables = ONE_TASK, self.tables
        if self.are_known and level == 0 and not arrays.tasks["n_jumbo_jobs"][row]:
            if self.n == ROOM:
                tables.heads[:], self.n = UNKNOWN, 1
            kind, self.n = self.n, self.n + 1
            tables.marks[kind] = mark = mark_of_task(arrays, row, place)
            tables.heads[head_of(arrays, tables, row, mark)] = kind
            tables.keys[kind] = tables.raw[row, self.places]
        tables.known[kind], tables.templates[kind] = rows, record[0]
        return kind


def raw_of(tasks: np.ndarray) -> np.ndarray:
    """The bytes of a table, (rows, bytes of a row)."""
    return tasks.view(np.uint8).reshape(len(tasks), tasks.dtype.itemsize)


class Rows:
    """Different arrays of one length as the rows of a table, (room, n)."""

    def __init__(self, n: int, dtype: Any):
        self.table = np.zeros((16, n), dtype)
        self.number: dict[int, tuple[int, np.ndarray]] = {}     # the arrays are kept, so that no other gets their id

    def row_of(self, array: np.ndarray) -> int:
        """Row of an array, which is not to be changed; the table is replaced when it grows."""
        found = self.number.get(id(array))
        if found is None:
            if len(self.number) == len(self.table):
                self.table = np.concatenate([self.table, np.zeros_like(self.table)])
            found = self.number[id(array)] = len(self.number), array
            self.table[found[0]] = array
        return found[0]


class EqualRows(Rows):
    """As `Rows`, where equal arrays have one row."""

    def __init__(self, n: int, dtype: Any):
        super().__init__(n, dtype)
        self.first: dict[bytes, np.ndarray] = {}

    def row_of(self, array: np.ndarray) -> int:
        """As for `Rows`."""
        return super().row_of(self.first.setdefault(array.tobytes(), array))
