"""Activated jobs of one pseudo-queue and share, best first: a pairing heap threaded through the rows of the jobs.

A pairing heap inserts in constant and removes in logarithmic time, needs no memory except three columns, and allows
removal from the middle; source: Fredman, Sedgewick, Sleator, Tarjan, Algorithmica 1 (1986).

Jobs of a task mostly arrive in dispatch order. So a job is put below the one inserted before it if it comes after that
one: the jobs of a task form a chain instead of a long list of siblings that must be compared later.
"""

from simgrid_broker.compiled import compiled
from simgrid_broker.world.arrays import Arrays

URGENT = 2**30
"""Added to the rank of urgent jobs, if they go before all others."""


@compiled
def comes_before(jobs, one, other):
    """Whether job `one` is dispatched before job `other`: higher rank (priority) first, then the older PandaID."""
    if jobs[one]["rank"] != jobs[other]["rank"]:
        return jobs[one]["rank"] > jobs[other]["rank"]
    return jobs[one]["panda_id"] < jobs[other]["panda_id"]


@compiled
def meld(jobs, one, other):
    """Root of the union of the heaps with roots `one` and `other`; -1 = empty heap."""
    if one < 0:
        return other
    if other < 0:
        return one
    if comes_before(jobs, other, one):
        one, other = other, one
    first = jobs[one]["child"]
    jobs[other]["sibling"] = first
    jobs[other]["previous"] = one
    if first >= 0:
        jobs[first]["previous"] = other
    jobs[one]["child"] = other
    return one


@compiled
def merge_siblings(jobs, first):
    """Root of the union of a list of siblings: melded in pairs from the left, then from the right."""
    pairs = -1
    while first >= 0:
        one = first
        other = jobs[one]["sibling"]
        first = -1 if other < 0 else jobs[other]["sibling"]
        jobs[one]["sibling"] = -1
        if other >= 0:
            jobs[other]["sibling"] = -1
        root = meld(jobs, one, other)
        jobs[root]["sibling"] = pairs
        pairs = root
    root = -1
    while pairs >= 0:
        following = jobs[pairs]["sibling"]
        jobs[pairs]["sibling"] = -1
        root = meld(jobs, root, pairs)
        pairs = following
    if root >= 0:
        jobs[root]["previous"] = -1
    return root


@compiled
def rank(settings, job):
    """Rank of a job among those of its share: the weighted sum of the columns that the order of dispatch names."""
    first = URGENT if settings["urgent_first"] and job["processing_type"] == settings["urgent"] else 0
    return (first + settings["rank_by_priority"] * job["priority"] + settings["rank_by_attempt"] * job["attempt"]
            + settings["rank_by_corecount"] * job["corecount"] + settings["rank_by_n_events"] * job["n_events"]
            + settings["rank_by_n_input_files"] * job["n_input_files"])


@compiled
def put_activated(world: Arrays, row):
    """Insert an activated job into the heap of its pseudo-queue and share."""
    jobs = world.jobs
    job = jobs[row]
    job["child"] = job["sibling"] = job["previous"] = -1
    job["rank"] = rank(world.settings[0], job)
    queue, share = job["pseudo_queue"], job["share"]
    newest = world.newest_activated[queue, share]
    if newest >= 0 and comes_before(jobs, newest, row):
        meld(jobs, newest, row)
    else:
        world.activated[queue, share] = meld(jobs, world.activated[queue, share], row)
    world.newest_activated[queue, share] = row


@compiled
def forget_newest(world: Arrays, queue, share, row):
    """Forget a leaving job as the newest one, so that no job is put below it."""
    if world.newest_activated[queue, share] == row:
        world.newest_activated[queue, share] = -1


@compiled
def take_best(world: Arrays, queue, share):
    """Remove the best activated job of a pseudo-queue and share, which must exist, and return its row."""
    jobs = world.jobs
    row = world.activated[queue, share]
    forget_newest(world, queue, share, row)
    world.activated[queue, share] = merge_siblings(jobs, jobs[row]["child"])
    return row


@compiled
def take_out(world: Arrays, row):
    """Remove an activated job from any place in its heap."""
    jobs = world.jobs
    job = jobs[row]
    queue, share = job["pseudo_queue"], job["share"]
    forget_newest(world, queue, share, row)
    rest = merge_siblings(jobs, job["child"])
    if world.activated[queue, share] == row:
        world.activated[queue, share] = rest
        return
    before, after = job["previous"], job["sibling"]
    if jobs[before]["child"] == row:
        jobs[before]["child"] = after
    else:
        jobs[before]["sibling"] = after
    if after >= 0:
        jobs[after]["previous"] = before
    world.activated[queue, share] = meld(jobs, world.activated[queue, share], rest)
