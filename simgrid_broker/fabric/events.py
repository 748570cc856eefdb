"""The future events of the fabric: a heap of those that are near in time, and a list of the far ones.

What lives here: kinds of events, scheduling, taking the earliest. What does not: what an event does (`loop`).
Ties in time are broken by the order of scheduling, so the same calls give the same history. Most events are ends of
payloads hours ahead: they wait unsorted until the heap is empty, so that it stays small enough for the processor's
cache. The heap is empty only if there is no event at all.
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


NEAR_S = 600.0
"""Events so much later than the earliest one, s, stay out of the heap."""


@compiled
def earlier(one, other):
    """Whether event `one` comes before event `other`."""
    if one["time_s"] != other["time_s"]:
        return one["time_s"] < other["time_s"]
    return one["sequence"] < other["sequence"]


@compiled
def put_near(world, time, sequence, kind, row):
    """Put an event into the heap; it is counted already."""
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
    event["time_s"] = time
    event["sequence"] = sequence
    event["kind"] = kind
    event["row"] = row


@compiled
def bring_near(world):
    """Put the earliest of the far events, and those soon after it, into the heap, which is empty."""
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
def schedule(world, time, kind, row):
    """Schedule an event; returns its sequence number. The caller has made sure of room."""
    state = world.state[0]
    state["sequence"] += 1
    state["n_events"] += 1
    sequence = state["sequence"]
    if time <= state["horizon_s"]:
        put_near(world, time, sequence, kind, row)
        return sequence
    event = world.far_events[state["n_far"]]
    event["time_s"] = time
    event["sequence"] = sequence
    event["kind"] = kind
    event["row"] = row
    state["n_far"] += 1
    if state["n_far"] == state["n_events"]:
        bring_near(world)
    return sequence


@compiled
def remove_first(world):
    """Take the earliest event out of the heap; read it before."""
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
        best = first
        for child in range(first + 1, min(first + ARITY, n)):
            if earlier(heap[child], heap[best]):
                best = child
        if earlier(last, heap[best]):
            break
        heap[place] = heap[best]
        place = best
    heap[place] = last
    if n == 0 and state["n_far"] > 0:
        bring_near(world)
