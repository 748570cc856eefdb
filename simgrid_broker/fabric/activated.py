"""Activated jobs of one pseudo-queue and share, best first: a pairing heap threaded through the rows of the jobs.

What lives here: putting in, taking the best out, taking any out. What does not: choosing the share (`pilots`).
A pairing heap puts in at once and takes out in logarithmic time, needs no memory beside three columns, and lets a job
be taken out from the middle; source: Fredman, Sedgewick, Sleator, Tarjan, Algorithmica 1 (1986).

Jobs mostly come in the order in which they go: those of a task one behind the other. So a job is put below the one that
came before it, if it goes after that: a task's jobs are a chain, not a long row of siblings to be compared later.
"""

from simgrid_broker.compiled import compiled


@compiled
def comes_before(jobs, one, other):
    """Whether job `one` is dispatched before job `other`: higher rank (priority) first, then the older PandaID."""
    if jobs[one]["rank"] != jobs[other]["rank"]:
        return jobs[one]["rank"] > jobs[other]["rank"]
    return jobs[one]["panda_id"] < jobs[other]["panda_id"]


@compiled
def meld(jobs, one, other):
    """Root of the two heaps with roots `one` and `other` together; -1 stands for an empty heap."""
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
    """Root of all heaps in a list of siblings: melded in pairs from the left, then together from the right."""
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
    return (settings["rank_by_priority"] * job["priority"] + settings["rank_by_attempt"] * job["attempt"]
            + settings["rank_by_corecount"] * job["corecount"] + settings["rank_by_n_events"] * job["n_events"]
            + settings["rank_by_n_input_files"] * job["n_input_files"])


@compiled
def put_activated(world, row):
    """Put an activated job where pilots of its pseudo-queue find it."""
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
def forget_newest(world, queue, share, row):
    """Let no job be put below one that leaves."""
    if world.newest_activated[queue, share] == row:
        world.newest_activated[queue, share] = -1


@compiled
def take_best(world, queue, share):
    """Row of the best activated job of a pseudo-queue and share, which is taken out; there must be one."""
    jobs = world.jobs
    row = world.activated[queue, share]
    forget_newest(world, queue, share, row)
    world.activated[queue, share] = merge_siblings(jobs, jobs[row]["child"])
    return row


@compiled
def take_out(world, row):
    """Take an activated job out, wherever it stands."""
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
