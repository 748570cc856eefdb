"""Future events of the fabric: a heap of the near ones, and an unsorted list of the far ones.

Ties in time are broken by the order of scheduling, so the same calls give the same history. Most events are ends of
payloads hours ahead: they wait unsorted until the heap is empty, which keeps the heap small enough for the processor's
cache. The heap is empty only if there is no event at all.
"""

from simgrid_broker.compiled import compiled
from simgrid_broker.world.arrays import GROWING, Arrays
from simgrid_broker.world.rows import next_place

PILOT_ASKS, PILOT_LEAVES = 0, 1
"""A worker with a slot requests a job; a pilot without a job releases its slot; row = slot."""
PAYLOAD_ENDS, LINK_DUE = 2, 3
"""A running job ends, row = job; a transfer on a link may be complete, row = link."""
TRANSFER_DONE, TRANSFER_AGAIN = 4, 5
"""The callback of a transfer; a failed transfer returns to its link; row = transfer."""
JOB_REPORTS, WORKER_READY = 6, 7
"""A pilot reports that the payload of its job runs, row = job; a batch system considers a worker, row = submission."""
SUBDATASET_DONE, OUTPUT_LOOK = 8, 9
"""The callback of a sub-dataset, row = sub-dataset; the server looks for the output of a transfer, row = transfer."""
STAGE_OUT, READING_DONE = 10, 11
"""A running job has read all and begins to write, row = job; a reading over WAN is over, row = transfer."""

EVENTS = GROWING.index("events")
ARITY = 4
"""Children per node: four events share two cache lines, and the heap is half as deep as with two children."""
NEAR_S = 600.0
"""Events later than the earliest one by more than this, s, stay out of the heap."""


@compiled
def earlier(one, other):
    """True if event `one` comes before event `other`; one expression, as the processor cannot foresee the answer."""
    return ((one["time_s"] < other["time_s"])
            | ((one["time_s"] == other["time_s"]) & (one["sequence"] < other["sequence"])))


@compiled
def first_child(heap, first, n):
    """Earliest of the events from place `first` on that have the same parent; n: events in the heap."""
    if first + ARITY <= n:                     # two pairs, then the earlier of each: without a branch
        left = first + earlier(heap[first + 1], heap[first])
        right = first + 2 + earlier(heap[first + 3], heap[first + 2])
        return left + (right - left) * earlier(heap[right], heap[left])
    best = first
    for child in range(first + 1, n):
        if earlier(heap[child], heap[best]):
            best = child
    return best


@compiled
def put_near(world: Arrays, time, sequence, kind, row):
    """Insert an event, which is already counted, into the heap."""
    state = world.state[0]
    heap = world.events
    place = state["n_events"] - state["n_far"] - 1
    while place > 0:
        parent = (place - 1) // ARITY
        above = heap[parent]
        if above["time_s"] < time or (above["time_s"] == time and above["sequence"] < sequence):
            break
        heap[place] = above
        place = parent
    event = heap[place]
    event["time_s"], event["sequence"], event["kind"], event["row"] = time, sequence, kind, row


@compiled
def bring_near(world: Arrays):
    """Move the earliest far event and those within NEAR_S after it into the empty heap."""
    state = world.state[0]
    far = world.far_events
    earliest = far[0]["time_s"]
    for k in range(state["n_far"]):
        earliest = min(earliest, far[k]["time_s"])
    state["horizon_s"] = earliest + NEAR_S
    k = 0
    while k < state["n_far"]:
        event = far[k]
        if event["time_s"] > state["horizon_s"]:
            k += 1
            continue
        state["n_far"] -= 1
        put_near(world, event["time_s"], event["sequence"], event["kind"], event["row"])
        far[k] = far[state["n_far"]]                       # in any order: the heap sorts them


@compiled
def schedule(world: Arrays, time, kind, row):
    """Schedule an event and return its sequence number; the caller makes room."""
    state = world.state[0]
    if next_place(world, state["n_events"], min(len(world.events), len(world.far_events)), EVENTS) < 0:
        return state["sequence"]
    state["sequence"] += 1
    state["n_events"] += 1
    sequence = state["sequence"]
    if time <= state["horizon_s"]:
        put_near(world, time, sequence, kind, row)
        return sequence
    event = world.far_events[state["n_far"]]
    event["time_s"], event["sequence"], event["kind"], event["row"] = time, sequence, kind, row
    state["n_far"] += 1
    if state["n_far"] == state["n_events"]:
        bring_near(world)
    return sequence


@compiled
def remove_first(world: Arrays):
    """Remove the earliest event from the heap; the caller reads it first."""
    state = world.state[0]
    heap = world.events
    state["n_events"] -= 1
    n = state["n_events"] - state["n_far"]
    last = heap[n]
    place = 0
    while True:
        first = ARITY * place + 1
        if first >= n:
            break
        best = first_child(heap, first, n)
        if earlier(last, heap[best]):
            break
        heap[place] = heap[best]
        place = best
    heap[place] = last
    if n == 0 and state["n_far"] > 0:
        bring_near(world)
