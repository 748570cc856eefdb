"""The table of event ranges, one compiled row each, and the compiled functions that change it.

Ranges of one input file inserted for one jobset are a chunk: a list of rows in the order of their first events. A
function walks the chunks in its argument `which`, an array of their numbers in the order of jobset and file.

Source: JEDI TWiki, status of events; lifecycle reference, 6.1; panda-server, task_event_module and job_complex_module.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import EventStatus

S = EventStatus
RANGE = np.dtype([
    ("owner", "i8"),                 # PandaID of the job that holds it, or the jobset where it waits
    ("chunk", "i4"), ("first", "i4"), ("last", "i4"), ("next", "i4"),  # next row of its chunk, or free row; -1 = none
    ("attempts", "i2"),              # attempts left: attemptNr, which counts down
    ("store", "i2"),                 # object store that holds its output, -1 = none
    ("status", "i1"),
    ("is_settled", "?"),             # of a failed range: it has its copy
    ("is_jumbo", "?"),               # a jumbo job took it
    ("hand", "i4"),                  # row of the next range that its job has in hand, -1 = none
])
"""An event range, 35 bytes."""
CHUNK = np.dtype([("jobset", "i8"), ("file", "i8"), ("head", "i4"), ("ready", "i4"), ("before", "i4"), ("after", "i4"),
                  ("n_open", "i4"), ("n_taken", "i4"), ("n_processed", "i4"), ("looked_s", "f8"),
                  ("event_bytes", "f8")])
"""Ranges of a file for a jobset. head: first row; ready: first row that can be ready; -1 = none.

before, after: neighbours in the ring of the chunks of a task with jumbo jobs, -1 = it is in none. A ring begins and
ends with a chunk of file 0, which has no ranges. n_open: ready ranges with attempts left; n_taken, n_processed: those
in one of the statuses TAKEN or PROCESSED; looked_s: when add_sub looked at them last, -inf = never; event_bytes: output
of an event.
"""
ANY, OF_JUMBO = -1, -2
"""Owners: any; any jumbo job."""
FIRST_FREE, N_FREE, N_INSERTED, N_COPIED, N_REMOVED = range(5)
"""Cells of the state of the table: first free row, number of free rows; ranges ever inserted, copied and removed."""


def mask(*statuses: EventStatus) -> int:
    """Bits of statuses."""
    return sum(1 << status for status in statuses)


READY, SENT, FAILED = (int(status) for status in (S.READY, S.SENT, S.FAILED))
ALL, IS_READY = mask(*S), mask(S.READY)
KEPT = mask(S.FINISHED, S.DONE)
"""Statuses of ranges that were processed and not merged yet."""
PROCESSED = KEPT | mask(S.MERGED)
TAKEN = mask(S.SENT, S.RUNNING)
COUNTED = IS_READY | TAKEN | PROCESSED
"""Statuses of which chunks count the ranges."""
GONE = mask(S.DISCARDED, S.CANCELLED)
OVER = GONE | mask(S.DONE, S.FATAL, S.FAILED, S.CORRUPTED)
"""Statuses of ranges for which a jobset waits no longer."""
UNTOUCHED = GONE | mask(S.DONE, S.FAILED)
"""Statuses that the end of a consumer leaves; its finished ranges are done by then."""
CANCELLABLE = ALL & ~(OVER | KEPT)
"""Statuses of ranges that a kill cancels; QUIRK: merged ones too."""
NO_LIMIT = 2**15
"""Attempts above those of any range."""
STAYS = -1
"""Status of ranges that keep theirs."""


@compiled
def _is_of(one, owner):
    """True if a range belongs to an owner."""
    return owner == ANY or one["owner"] == owner or (owner == OF_JUMBO and one["is_jumbo"])


@compiled
def _is_in(one, statuses):
    """True if a range is in one of some statuses."""
    return (statuses >> int(one["status"])) & 1 == 1


@compiled
def _count(chunks, one, by):
    """Count a range `by` times in its chunk."""
    chunk = chunks[one["chunk"]]
    if _is_in(one, TAKEN):
        chunk["n_taken"] += by
    elif _is_in(one, PROCESSED):
        chunk["n_processed"] += by
    elif one["status"] == READY and one["attempts"] > 0:
        chunk["n_open"] += by


@compiled
def count_chunk(rows, chunks, number):
    """Count the ranges of a chunk."""
    chunk = chunks[number]
    chunk["n_open"] = chunk["n_taken"] = chunk["n_processed"] = 0
    row = chunk["head"]
    while row >= 0:
        _count(chunks, rows[row], 1)
        row = rows[row]["next"]


@compiled
def set_range(rows, chunks, row, status, attempts):
    """Set status and attempts left of a range."""
    one = rows[row]
    _count(chunks, one, -1)
    one["status"], one["attempts"] = status, attempts
    _count(chunks, one, 1)


@compiled
def _may_have(chunk, statuses, least):
    """False if no range of a chunk is in one of `statuses` with `least` attempts left; True if one may be."""
    if statuses & ~COUNTED:
        return True
    n = chunk["n_taken"] if statuses & TAKEN else 0
    n += chunk["n_processed"] if statuses & PROCESSED else 0
    return n > 0 or (statuses & IS_READY != 0 and (least < 1 or chunk["n_open"] > 0))


@compiled
def tally(rows, chunks, which, owner, statuses, least, most, status):
    """Numbers of ranges, and of their events, of an owner in one of `statuses` with `least` to `most` attempts left.

    status: which they get, STAYS = none.
    """
    n = n_events = 0
    for k in range(len(which)):
        chunk = chunks[which[k]]
        row = np.int64(chunk["head"]) if _may_have(chunk, statuses, least) else -1
        while row >= 0:
            one = rows[row]
            if _is_in(one, statuses) and least <= one["attempts"] <= most and _is_of(one, owner):
                if status != STAYS:
                    set_range(rows, chunks, row, status, one["attempts"])
                n += 1
                n_events += one["last"] - one["first"] + 1
            row = np.int64(one["next"])
    return n, n_events


@compiled
def take(rows, chunks, which, jobset, job, jumbo, most, taken):
    """Give a job up to `most` ready ranges of a jobset, or of any, in the order of jobset, file and first event.

    taken: (most + 1,) their rows in the order of file and first event. The number is above `most` if there are more:
    PanDA reserves one more, and gives back the last in that order. Source: `getEventRanges`.
    """
    n = 0
    for k in range(len(which)):
        n = find_ready(rows, chunks, which[k], jobset, most, taken, n)
    give(rows, chunks, job, jumbo, most, taken, n)
    return n


@compiled
def find_ready(rows, chunks, number, jobset, most, taken, n):
    """Add ready ranges of a chunk to the `n` in `taken`, at most `most` and one more in all; their number."""
    chunk = chunks[number]
    row, passes = np.int64(chunk["ready"]), True
    while row >= 0 and n <= most:
        one = rows[row]
        if one["status"] == READY and one["attempts"] > 0:
            if _is_of(one, jobset):
                n = _sorted_in(rows, chunks, taken, n, row)
            else:
                passes = False
        row = np.int64(one["next"])
        if passes:
            chunk["ready"] = row
    return n


@compiled
def find_in_ring(rows, chunks, head, most, taken):
    """Put ready ranges of all chunks of a ring into `taken`, at most `most` and one more; their number."""
    n, number = 0, np.int64(chunks[head]["after"])
    while number != head and n <= most:
        n = find_ready(rows, chunks, number, ANY, most, taken, n)
        number = np.int64(chunks[number]["after"])
    return n


@compiled
def give(rows, chunks, job, jumbo, most, taken, n):
    """Give a job the first `most` of the `n` ranges in `taken`; the next request begins with the one more."""
    if n > most:
        chunk = chunks[rows[taken[most]]["chunk"]]
        if chunk["ready"] < 0 or _follows(rows, chunks, chunk["ready"], taken[most]):
            chunk["ready"] = taken[most]
    for place in range(min(n, most)):
        one = rows[taken[place]]
        set_range(rows, chunks, taken[place], SENT, one["attempts"])
        one["owner"], one["is_jumbo"] = job, jumbo
        one["hand"] = taken[place + 1] if place + 1 < min(n, most) else -1


@compiled
def _sorted_in(rows, chunks, taken, n, row):
    """Put a row into its place among `n` taken ones; their number."""
    place = n
    while place > 0 and _follows(rows, chunks, taken[place - 1], row):
        taken[place] = taken[place - 1]
        place -= 1
    taken[place] = row
    return n + 1


@compiled
def _follows(rows, chunks, row, other):
    """True if a range comes after another in the order of file, first event and attempts left."""
    one, two = rows[row], rows[other]
    file, file_of_other = chunks[one["chunk"]]["file"], chunks[two["chunk"]]["file"]
    if file != file_of_other:
        return file > file_of_other
    return one["attempts"] > two["attempts"] if one["first"] == two["first"] else one["first"] > two["first"]


@compiled
def release(rows, chunks, which, job, statuses, jobset, fewer):
    """Make the ranges of a job in one of `statuses` ready again, with `fewer` attempts less; their number.

    jobset: their new owner, ANY = that of the chunk.
    """
    n = 0
    for k in range(len(which)):
        chunk = chunks[which[k]]
        row = np.int64(chunk["head"]) if _may_have(chunk, statuses, 0) else -1
        while row >= 0:
            one = rows[row]
            if one["owner"] == job and _is_in(one, statuses):
                set_range(rows, chunks, row, READY, one["attempts"] - fewer)
                one["owner"] = chunk["jobset"] if jobset == ANY else jobset
                one["is_jumbo"] = one["is_jumbo"] and jobset != ANY
                chunk["ready"] = chunk["head"]
                n += 1
            row = np.int64(one["next"])
    return n


@compiled
def copy_failed(rows, chunks, state, which, owner, jobset, new_owner):
    """Copy the failed ranges of an owner that have no copy as ready ones with an attempt less; their number.

    jobset: owner of the copies, ANY = that of the chunk; new_owner: of what was copied, ANY = as before. There must be
    as many free rows.
    """
    n = 0
    for k in range(len(which)):
        chunk = chunks[which[k]]
        row = chunk["head"]
        while row >= 0:
            one = rows[row]
            row = one["next"]
            if one["status"] == FAILED and not one["is_settled"] and _is_of(one, owner):
                free = state[FIRST_FREE]
                state[FIRST_FREE], state[N_FREE] = rows[free]["next"], state[N_FREE] - 1
                state[N_COPIED] += 1
                copy = rows[free]
                copy["chunk"], copy["first"], copy["last"], copy["next"] = one["chunk"], one["first"], one["last"], row
                copy["owner"] = chunk["jobset"] if jobset == ANY else jobset
                copy["status"], copy["attempts"], copy["store"] = READY, one["attempts"] - 1, -1
                copy["is_settled"] = copy["is_jumbo"] = False
                _count(chunks, copy, 1)
                one["next"], one["is_settled"] = free, True
                if new_owner != ANY:
                    one["owner"] = new_owner
                chunk["ready"] = chunk["head"]
                n += 1
    return n


@compiled
def is_awaited(rows, chunks, which):
    """True if a range has still to be processed, or has failed and was not copied."""
    for k in range(len(which)):
        row = chunks[which[k]]["head"]
        while row >= 0:
            one = rows[row]
            if (one["attempts"] > 0 and not _is_in(one, OVER)) or (
                    one["status"] == FAILED and not one["is_settled"]):
                return True
            row = one["next"]
    return False


@compiled
def owners(rows, chunks, which, statuses, known):
    """Put the distinct owners of ranges in one of `statuses` into `known`; their number, cut at its length."""
    n = 0
    for k in range(len(which)):
        row = chunks[which[k]]["head"]
        while row >= 0:
            one = rows[row]
            if _is_in(one, statuses):
                place = 0
                while place < n and known[place] != one["owner"]:
                    place += 1
                if place == n and n < len(known):
                    known[n] = one["owner"]
                    n += 1
            row = one["next"]
    return n


@compiled
def find(rows, chunks, which, owner, file, first, attempts):
    """Row of a range, -1 if there is none: the parts of PanDA's eventRangeID."""
    for k in range(len(which)):
        chunk = chunks[which[k]]
        row = chunk["head"] if chunk["file"] == file else -1
        while row >= 0:
            one = rows[row]
            if one["owner"] == owner and one["first"] == first and one["attempts"] == attempts:
                return row
            row = one["next"]
    return -1


@compiled
def find_processed(rows, chunks, which, size, is_processed):
    """Set True in `is_processed` for each range of some chunks that was processed, by its place among those of `size`
    events."""
    for k in range(len(which)):
        row = np.int64(chunks[which[k]]["head"])
        while row >= 0:
            one = rows[row]
            if _is_in(one, PROCESSED):
                is_processed[(one["first"] - 1) // size] = True
            row = np.int64(one["next"])


@compiled
def take_free(rows, state, new):
    """Allocate as many rows as `new` has places."""
    for k in range(len(new)):
        new[k] = state[FIRST_FREE]
        state[N_INSERTED] += 1
        state[FIRST_FREE], state[N_FREE] = rows[new[k]]["next"], state[N_FREE] - 1


@compiled
def free_chunk(rows, chunks, state, number):
    """Free the rows of a chunk that is over."""
    row = np.int64(chunks[number]["head"])
    while row >= 0:
        after = np.int64(rows[row]["next"])
        rows[row]["next"], rows[row]["owner"] = state[FIRST_FREE], 0
        state[FIRST_FREE], state[N_FREE] = row, state[N_FREE] + 1
        state[N_REMOVED] += 1
        row = after
    chunk = chunks[number]
    chunk["head"] = chunk["ready"] = -1
    chunk["n_open"] = chunk["n_taken"] = chunk["n_processed"] = 0


@compiled
def ring_of(chunks, head, numbers):
    """Put the numbers of the chunks of a ring into `numbers` in order; how many they are."""
    n, number = 0, np.int64(chunks[head]["after"])
    while number != head:
        numbers[n] = number
        n, number = n + 1, np.int64(chunks[number]["after"])
    return n


class EventRanges:
    """All event ranges of a run or a case; chunks and rows are added, and those of chunks that are over used again.

    hold: called when a table was replaced by a longer one.
    """

    def __init__(self, hold: Callable[["EventRanges"], None] | None = None) -> None:
        self.hold, self.free_chunks = hold, list[int]()
        self.rows, self.chunks = np.zeros(16, RANGE), np.zeros(4, CHUNK)
        self.state = np.array([0, len(self.rows), 0, 0, 0], np.int64)
        self.rows["next"] = np.append(np.arange(1, len(self.rows)), -1)
        self.n_chunks = 0

    def add_chunk(self, jobset: int, file: int, firsts: Sequence[int] | np.ndarray, lasts: Sequence[int] | np.ndarray,
                  **values: Any) -> int:
        """A chunk of new ranges with these first and last events, and values of other columns; its number."""
        self.make_room(len(firsts))
        chunk = self.free_chunks.pop() if self.free_chunks else self.n_chunks
        new = np.empty(len(firsts), np.int64)
        take_free(self.rows, self.state, new)
        for name, value in dict(owner=jobset, attempts=0, status=S.READY, is_settled=False, is_jumbo=False,
                                chunk=chunk, first=firsts, last=lasts, hand=-1, store=-1,
                                next=np.append(new[1:], -1)[:len(new)]).items():
            self.rows[name][new] = values.get(name, value)
        if chunk == len(self.chunks):
            self.chunks = np.append(self.chunks, np.zeros_like(self.chunks))
            self._tell()
        head = new[0] if len(new) else -1
        self.chunks[chunk] = (jobset, file, head, head, -1, -1, 0, 0, 0, -np.inf, 0)
        self.n_chunks = max(self.n_chunks, chunk + 1)
        count_chunk(self.rows, self.chunks, chunk)
        return chunk

    @property
    def n_used(self) -> int:
        """Rows in use."""
        return len(self.rows) - int(self.state[N_FREE])

    @property
    def n_made(self) -> int:
        """Ranges that were inserted or copied, and not removed."""
        return int(self.state[N_INSERTED] + self.state[N_COPIED] - self.state[N_REMOVED])

    def rows_of(self, chunk: int) -> Iterator[int]:
        """Rows of the ranges of a chunk in order."""
        row = int(self.chunks["head"][chunk])
        while row >= 0:
            yield row
            row = int(self.rows["next"][row])

    def add_ring(self) -> int:
        """An empty ring of chunks; the number of its head."""
        head = self.add_chunk(0, 0, [], [])
        self.chunks["before"][head] = self.chunks["after"][head] = head
        return head

    def join_ring(self, head: int, chunk: int) -> None:
        """Put a chunk at the end of a ring."""
        before, after = self.chunks["before"], self.chunks["after"]
        before[chunk], after[chunk] = before[head], head
        after[before[head]] = before[head] = chunk

    def leave_ring(self, chunk: int) -> None:
        """Take a chunk out of its ring, if it is in one."""
        before, after = int(self.chunks["before"][chunk]), int(self.chunks["after"][chunk])
        if after >= 0:
            self.chunks["after"][before], self.chunks["before"][after] = after, before
            self.chunks["after"][chunk] = self.chunks["before"][chunk] = -1

    def in_ring(self, head: int) -> np.ndarray:
        """Numbers of the chunks of a ring in order."""
        numbers = np.empty(self.n_chunks, np.int64)
        return numbers[:ring_of(self.chunks, head, numbers)]

    def remove(self, chunk: int) -> None:
        """Free a chunk and its rows."""
        self.leave_ring(chunk)
        free_chunk(self.rows, self.chunks, self.state, chunk)
        self.free_chunks.append(chunk)

    def _tell(self) -> None:
        if self.hold is not None:
            self.hold(self)

    def make_room(self, n: int) -> None:
        """At least `n` free rows."""
        old, free = len(self.rows), int(self.state[N_FREE])
        if free >= n:
            return
        more = max(old, n)
        rows = np.zeros(old + more, RANGE)
        rows[:old] = self.rows
        rows["next"][old:] = np.append(np.arange(old + 1, old + more), self.state[FIRST_FREE] if free else -1)
        self.rows, self.state[:N_INSERTED] = rows, (old, free + more)
        self._tell()
