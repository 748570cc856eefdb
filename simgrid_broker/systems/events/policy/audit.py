"""Invariants of the ranges of an input: each event is in one range that no copy replaced, ranges in work are with jobs
that are alive, and chunks count their ranges."""

from simgrid_broker.compiled import compiled
from simgrid_broker.systems.events.table import GONE, TAKEN, count_chunk

FAULTS = ("event ranges are in work at a job that has ended", "events of an input are in two ranges",
          "events of an input are in no range", "event ranges are counted wrongly by status")
"""Faults that `audit` finds."""


@compiled
def _is_among(owner, alive):
    """True if an owner is one of some jobs."""
    for panda_id in alive:
        if panda_id == owner:
            return True
    return False


@compiled
def audit(rows, chunks, which, alive, seen):
    """Faults of the ranges of one input as bits, FAULTS in their order, and the number of its ranges.

    alive: PandaIDs of jobs that may hold ranges; seen: (n_events + 1,) of False, by event of the input.
    """
    faults = n = n_seen = 0
    for k in range(len(which)):
        row = chunks[which[k]]["head"]
        while row >= 0:
            one = rows[row]
            n += 1
            if (TAKEN >> int(one["status"])) & 1 and not _is_among(one["owner"], alive):
                faults |= 1
            if not (one["is_settled"] or (GONE >> int(one["status"])) & 1):
                for event in range(one["first"], one["last"] + 1):
                    if event >= len(seen) or seen[event]:
                        faults |= 2
                    else:
                        seen[event] = True
                        n_seen += 1
            row = one["next"]
        faults |= 0 if _is_counted(rows, chunks, which[k]) else 8
    return faults | (4 if n_seen < len(seen) - 1 else 0), n


@compiled
def _is_counted(rows, chunks, number):
    """True if a chunk has as many ranges of each kind as it counts."""
    chunk = chunks[number]
    n_open, n_taken, n_processed = chunk["n_open"], chunk["n_taken"], chunk["n_processed"]
    count_chunk(rows, chunks, number)
    return n_open == chunk["n_open"] and n_taken == chunk["n_taken"] and n_processed == chunk["n_processed"]
