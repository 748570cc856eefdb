"""Activated jobs of one pseudo-queue and share, best first: a pairing heap threaded through the rows of the jobs.

A pairing heap inserts in constant and removes in logarithmic time, needs no memory except three columns, and allows
removal from the middle; source: Fredman, Sedgewick, Sleator, Tarjan, Algorithmica 1 (1986).

Jobs of a task mostly arrive in dispatch order. So a job is put below the one inserted before it if it comes after that
one: the jobs of a task form a chain instead of a long list of siblings that must be compared later.

Where some requests are served by age alone, a second heap of each pseudo-queue, threaded through `ages`, has all of its
activated jobs, the oldest first. A heap is any table with the columns rank, panda_id, child, sibling and previous.
"""

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.task_queues import put_waiting, stop_waiting
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.jobs.loads import max_walltime
from simgrid_broker.world.rows import has_no_pieces

URGENT = 2**30
"""Added to the rank of urgent jobs, if they go before all others."""
LONGEST_S = 1e7
"""Wall time as which a longer one, or one without limit, counts in an order by wall time, s."""


@compiled
def comes_before(nodes, one, other):
    """True if job `one` is dispatched before job `other`: higher rank (priority) first, then the older PandaID."""
    if nodes[one]["rank"] != nodes[other]["rank"]:
        return nodes[one]["rank"] > nodes[other]["rank"]
    return nodes[one]["panda_id"] < nodes[other]["panda_id"]


@compiled
def meld(nodes, one, other):
    """Root of the union of the heaps with roots `one` and `other`; -1 = empty heap."""
    if one < 0:
        return other
    if other < 0:
        return one
    if comes_before(nodes, other, one):
        one, other = other, one
    first = nodes[one]["child"]
    nodes[other]["sibling"] = first
    nodes[other]["previous"] = one
    if first >= 0:
        nodes[first]["previous"] = other
    nodes[one]["child"] = other
    return one


@compiled
def merge_siblings(nodes, first):
    """Root of the union of a list of siblings: melded in pairs from the left, then from the right."""
    pairs = -1
    while first >= 0:
        one = first
        other = nodes[one]["sibling"]
        first = -1 if other < 0 else nodes[other]["sibling"]
        nodes[one]["sibling"] = -1
        if other >= 0:
            nodes[other]["sibling"] = -1
        root = meld(nodes, one, other)
        nodes[root]["sibling"] = pairs
        pairs = root
    root = -1
    while pairs >= 0:
        following = nodes[pairs]["sibling"]
        nodes[pairs]["sibling"] = -1
        root = meld(nodes, root, pairs)
        pairs = following
    if root >= 0:
        nodes[root]["previous"] = -1
    return root


@compiled
def without(nodes, root, row):
    """Root of a heap after the removal of `row`, which may be anywhere in it; what is below it takes its place."""
    rest = merge_siblings(nodes, nodes[row]["child"])
    if root == row:
        return rest
    before, after = nodes[row]["previous"], nodes[row]["sibling"]
    in_place = rest if rest >= 0 else after
    if rest >= 0:
        nodes[rest]["previous"], nodes[rest]["sibling"] = before, after
    if after >= 0:
        nodes[after]["previous"] = rest if rest >= 0 else before
    if nodes[before]["child"] == row:
        nodes[before]["child"] = in_place
    else:
        nodes[before]["sibling"] = in_place
    return root


@compiled
def first_below(nodes, row):
    """First of the jobs below one in its heap, which becomes its only child and the parent of the others; -1 = none.

    So a job that stays at the top, as it suits no pilot, has those behind it in order: each request would otherwise
    compare all of its children.
    """
    child = nodes[row]["child"]
    if child >= 0 and nodes[child]["sibling"] >= 0:
        child = merge_siblings(nodes, child)
        nodes[row]["child"], nodes[child]["previous"] = child, row
    return child


@compiled
def dispatch_rank(world: Arrays, job):
    """Rank of a job among those of its share: the weighted sum of the columns that the order of dispatch names."""
    settings = world.settings[0]
    first = URGENT if settings["urgent_first"] and job["processing_type"] == settings["urgent"] else 0
    if settings["rank_by_maxwalltime"] != 0:
        first += settings["rank_by_maxwalltime"] * int(min(max_walltime(world, job), LONGEST_S))
    return (first + settings["rank_by_priority"] * job["priority"] + settings["rank_by_attempt"] * job["attempt"]
            + settings["rank_by_corecount"] * job["corecount"] + settings["rank_by_n_events"] * job["n_events"]
            + settings["rank_by_n_input_files"] * job["n_input_files"])


@compiled
def put_into_task_queue(world: Arrays, row):
    """Put an activated job into DIRAC's task queue of its task; returns False for one that waits at its queue.

    Such are merge jobs, and jobs of tasks without a task queue.
    """
    job, node = world.jobs[row], world.ages[row]
    node["panda_id"] = job["panda_id"]
    node["task_queue"] = -1 if has_no_pieces(job) else world.waits_in[job["task"], job["ram_level"]]
    if node["task_queue"] < 0:
        return False
    put_waiting(world, world.ages, node["task_queue"], row)
    return True


@compiled
def put_activated(world: Arrays, row):
    """Insert an activated job into the heap of its pseudo-queue and share, and into the one by age if there is one."""
    jobs = world.jobs
    job = jobs[row]
    if world.settings[0]["task_queues"] and put_into_task_queue(world, row):
        return
    job["child"] = job["sibling"] = job["previous"] = -1
    job["rank"] = dispatch_rank(world, job)
    queue, share = job["pseudo_queue"], job["share"]
    newest = world.newest_activated[queue, share]
    if newest >= 0 and comes_before(jobs, newest, row):
        meld(jobs, newest, row)
    else:
        world.activated[queue, share] = meld(jobs, world.activated[queue, share], row)
    world.newest_activated[queue, share] = row
    if world.settings[0]["keeps_ages"]:
        age = world.ages[row]
        age["panda_id"] = job["panda_id"]
        age["child"] = age["sibling"] = age["previous"] = -1
        world.oldest[queue] = meld(world.ages, world.oldest[queue], row)


@compiled
def take_out(world: Arrays, row):
    """Remove an activated job from any place in its heaps; as the newest one, so that no job is put below it."""
    job = world.jobs[row]
    if world.settings[0]["task_queues"] and world.ages[row]["task_queue"] >= 0:
        stop_waiting(world, world.ages, world.ages[row]["task_queue"], row)
        return
    queue, share = job["pseudo_queue"], job["share"]
    if world.newest_activated[queue, share] == row:
        world.newest_activated[queue, share] = -1
    world.activated[queue, share] = without(world.jobs, world.activated[queue, share], row)
    if world.settings[0]["keeps_ages"]:
        world.oldest[queue] = without(world.ages, world.oldest[queue], row)
