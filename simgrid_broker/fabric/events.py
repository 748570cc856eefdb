"""The heap of future events of the fabric.

What lives here: kinds of events, scheduling, taking the earliest. What does not: what an event does (`loop`).
Ties in time are broken by the order of scheduling, so the same calls give the same history.
"""

from simgrid_broker.compiled import compiled

PILOT_ASKS = 0
"""A worker has its slot and asks for a job; row = pseudo-queue."""
PILOT_LEAVES = 1
"""A pilot that got no job gives its slot back; row = pseudo-queue."""
PAYLOAD_ENDS = 2
"""A running job ends; row = job."""
LINK_DUE = 3
"""A transfer on a link may have moved its last byte; row = link."""
TRANSFER_DONE = 4
"""The callback of a transfer; row = transfer."""
TRANSFER_AGAIN = 5
"""A transfer that failed goes back to its link; row = transfer."""

ARITY = 4
"""Children of a node: four events share two cache lines, and the heap is half as deep as with two."""


@compiled
def schedule(world, time, kind, row):
    """Schedule an event; returns its sequence number. The caller has made sure of room."""
    state = world.state[0]
    heap = world.events
    state["sequence"] += 1
    sequence = state["sequence"]
    place = state["n_events"]
    state["n_events"] += 1
    while place > 0:                                       # sift up: a new event is the youngest, so ties stay below
        parent = (place - 1) // ARITY
        if heap[parent]["time_s"] <= time:
            break
        heap[place] = heap[parent]
        place = parent
    event = heap[place]
    event["time_s"] = time
    event["sequence"] = sequence
    event["kind"] = kind
    event["row"] = row
    return sequence


@compiled
def earlier(one, other):
    """Whether event `one` comes before event `other`."""
    if one["time_s"] != other["time_s"]:
        return one["time_s"] < other["time_s"]
    return one["sequence"] < other["sequence"]


@compiled
def remove_first(world):
    """Take the earliest event out of the heap; read it before."""
    state = world.state[0]
    heap = world.events
    state["n_events"] -= 1
    n = state["n_events"]
    last = heap[n]
    place = 0
    while True:
        first = ARITY * place + 1
        if first >= n:
            break
        best = first
        for child in range(first + 1, min(first + ARITY, n)):
            if earlier(heap[child], heap[best]):
                best = child
        if earlier(last, heap[best]):
            break
        heap[place] = heap[best]
        place = best
    heap[place] = last
