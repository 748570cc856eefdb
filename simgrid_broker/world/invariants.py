"""Consistency checks of a world: everything is counted again from the rows."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.errors import InvariantBroken
from simgrid_broker.names import Activity, JobStatus, TransferKind
from simgrid_broker.world.arrays import N_RAM_LEVELS, REUSED, Arrays
from simgrid_broker.world.data.invariants import LINK_INVARIANTS, STORAGE_INVARIANTS, in_line
from simgrid_broker.world.recount import Recount, recount

ACTIVATED, MERGING = int(JobStatus.ACTIVATED), int(JobStatus.MERGING)
ASSIGNED, TRANSFERRING = int(JobStatus.ASSIGNED), int(JobStatus.TRANSFERRING)
RUNNING = int(JobStatus.RUNNING)


def counts_equal_recount(arrays: Arrays, found: Recount):
    """Counts by queue, share, resource type, status, by task and by user equal the recount."""
    if not np.array_equal(found.counts, arrays.counts):
        yield f"counts differ from a recount in {np.count_nonzero(found.counts != arrays.counts)} places"
    if not np.array_equal(found.live_types, arrays.live_types):
        yield "jobs of tasks by resource type differ from a recount"
    if not np.array_equal(found.user_counts, arrays.user_counts):
        yield "counts by user differ from a recount"
    if not np.array_equal(found.user_jobs, arrays.user_jobs):
        yield "jobs of users by share and queue differ from a recount"
    if not np.array_equal(found.user_queued_cores, arrays.user_queued_cores):
        yield "cores of queued jobs of users differ from a recount"


def jobs_stand_in_tables(_arrays, found: Recount):
    """Queue, share, resource type, status, user, task and pseudo-queue of every live job exist."""
    if found.n_outside[0]:
        yield f"{found.n_outside[0]} jobs belong to a queue, share, user or task that does not exist"


def columns_for_scans_agree(arrays: Arrays, found: Recount):
    """Task, queue and status of every live job, and which transfers are input of users, stand once more for scans."""
    for name, close in (("task", arrays.job_tasks), ("queue", arrays.job_queues), ("status", arrays.job_status)):
        if (arrays.jobs[name][found.rows] != close[found.rows]).any():
            yield f"the {name} of some jobs is not that which scans find"
    of_users = (arrays.transfers["activity"] == Activity.ANALYSIS_INPUT) & (
        arrays.transfers["kind"] == TransferKind.INPUT)
    if ((of_users != arrays.user_input) & (arrays.transfers["transfer_id"] != 0)).any():
        yield "scans do not find which transfers are input of users"


@compiled
def owners_of_jobs(world: Arrays, owner):
    """Write the task of each job in the list of one to `owner`, (n_rows,), -1 before; returns how many stand wrongly.

    A list ends at a job that is met twice.
    """
    n_wrong = 0
    for task in range(len(world.live_jobs)):
        before, row = -1, world.live_jobs[task]["first"]
        while row >= 0 and owner[row] < 0:
            owner[row] = task
            n_wrong += world.neighbours[row]["previous"] != before
            before, row = row, world.neighbours[row]["next"]
        n_wrong += row >= 0
    return n_wrong


def tasks_list_their_jobs(arrays: Arrays, found: Recount):
    """Every live job, and no other, stands once in the list of its task."""
    owner, wanted = np.full((2, len(arrays.jobs)), -1, np.int32)
    wanted[found.rows] = arrays.jobs["task"][found.rows]
    n_wrong = owners_of_jobs(arrays, owner) + np.count_nonzero(owner != wanted)
    if n_wrong:
        yield f"{n_wrong} jobs are missing from the lists of their tasks or stand there wrongly"


def usage_equals_recount(arrays: Arrays, found: Recount):
    """Power in use by share and running cores by queue and by user equal the recount."""
    if not np.array_equal(found.hs06_milli, arrays.hs06_milli):
        yield "power in use by share differs from a recount"
    if not np.array_equal(found.running_cores, arrays.running_cores):
        yield "running cores differ from a recount"
    if not np.array_equal(found.user_cores, arrays.user_cores):
        yield "running cores by user differ from a recount"


def activity_equals_recount(arrays: Arrays, found: Recount):
    """Memory asked for, disk traffic and output under way by queue equal the recount."""
    for name in ("memory_asked", "disk_traffic", "transferring_to"):
        if not np.array_equal(getattr(found, name), getattr(arrays, name)):
            yield f"{name} of some queues differs from a recount"


def slots_are_used_once(arrays: Arrays, _found):
    """Free cores and memory of each batch system plus those of its workers equal its total, and are not negative."""
    pseudo, pools = arrays.pseudo_queues, arrays.pools
    cores, memory = np.zeros(len(pools)), np.zeros(len(pools))
    part = pools["whole_nodes"][pseudo["pool"]] == 0
    held = np.where(part, pseudo["n_running"] * pseudo["corecount"].astype(float),
                    arrays.worker_accounts["held_cores"])
    np.add.at(cores, pseudo["pool"], held)
    np.add.at(memory, pseudo["pool"], pseudo["n_running"] * pseudo["worker_mb"])
    for pool in np.flatnonzero((pools["free_cores"] < 0) | (pools["free_mb"] < -1e-3)):
        yield f"batch system {pool} has given away more than it has"
    for pool in np.flatnonzero(cores + pools["free_cores"] != pools["cores"]):
        yield f"batch system {pool}: cores held and free do not add up"
    for pool in np.flatnonzero(np.abs(memory + pools["free_mb"] - pools["memory_mb"]) > 1.0):
        yield f"batch system {pool}: memory held and free does not add up"


def nodes_make_up_their_pools(arrays: Arrays, _found):
    """Free cores of the nodes of each batch system are those of the system, and no node gives away more than it has."""
    for number in np.flatnonzero((arrays.nodes["free_cores"] < 0) | (arrays.nodes["free_mb"] < -1e-3)):
        yield f"node {number} has given away more than it has"
    for place, pool in enumerate(arrays.pools):
        nodes = arrays.nodes[pool["first_node"]:pool["last_node"]]
        if len(nodes) and nodes["free_cores"].sum() != pool["free_cores"]:
            yield f"batch system {place}: cores free on its nodes are not those that are free"
        first = pool["first_node"]
        listed, roomy = arrays.roomy_nodes[first:first + pool["n_roomy"]], np.flatnonzero(nodes["free_cores"]) + first
        if sorted(listed) != roomy.tolist() or (arrays.nodes["place"][listed] != first + np.arange(len(listed))).any():
            yield f"batch system {place}: its list of nodes with free cores is wrong"


def payloads_hold_slots(arrays: Arrays, found: Recount):
    """No pseudo-queue runs more payloads than it has workers."""
    for number in np.flatnonzero(found.payloads > arrays.pseudo_queues["n_running"]):
        yield f"pseudo-queue {number} runs more payloads than it has workers"


def no_input_is_lost(arrays: Arrays, found: Recount):
    """Every chunk of every task is new, alive, waiting for another attempt, processed or given up."""
    tasks, alive = arrays.tasks, found.alive
    made = tasks["next_chunk"]
    waiting = arrays.ram_levels["waiting"].sum(axis=1)
    known = found.pieces + waiting + tasks["n_finished"] + tasks["n_failed"]
    for row in np.flatnonzero(made != known):
        yield f"task {tasks[row]['jeditaskid']}: {made[row]} chunks were given out, {known[row]} are accounted for"
    for row in np.flatnonzero(alive != tasks["n_alive"]):
        yield f"task {tasks[row]['jeditaskid']}: {alive[row]} jobs are alive, {tasks[row]['n_alive']} are counted"


@compiled
def owners_of_retries(world: Arrays, owner):
    """Write the task of each row of `retries` that stands in a list to `owner`, (n_rows,), -1 before."""
    for task in range(len(world.tasks)):
        for level in range(N_RAM_LEVELS):
            row = world.ram_levels[task, level]["head"]
            while row >= 0 and owner[row] < 0:
                owner[row] = task
                row = world.retries[row]["next"]


def input_is_held_once(arrays: Arrays, found: Recount):
    """No two live attempts hold one piece of input, and none that a live attempt holds awaits another attempt."""
    jobs, retries = arrays.jobs, arrays.retries
    rows = found.rows[jobs["n_chunks"][found.rows] > 0]
    owner = np.full(len(retries), -1, np.int64)
    owners_of_retries(arrays, owner)
    waiting = np.flatnonzero(owner >= 0)
    task = np.concatenate([jobs["task"][rows], owner[waiting]])
    begin = np.concatenate([jobs["chunk"][rows], retries["chunk"][waiting]])
    end = begin + np.concatenate([jobs["n_chunks"][rows], retries["n_chunks"][waiting]])
    order = np.argsort((task.astype(np.int64) << int(begin.max(initial=0)).bit_length()) + begin)
    task, begin, end = task[order], begin[order], end[order]
    for place in np.flatnonzero((task[1:] == task[:-1]) & (begin[1:] < end[:-1]))[:5]:
        yield f"task {arrays.tasks[task[place]]['jeditaskid']}: chunk {begin[place + 1]} is held twice"


def attempts_stay_below_limit(arrays: Arrays, found: Recount):
    """No live job, except merge jobs, has more attempts or failures than its task and the retry rules allow."""
    jobs = arrays.jobs
    rows = found.rows[jobs["n_chunks"][found.rows] > 0]
    attempt, failures, limit, task = (jobs[name][rows] for name in ("attempt", "failures", "attempt_limit", "task"))
    most, most_failures = arrays.tasks["max_attempt"][task], arrays.tasks["max_failure"][task]
    for job in jobs[rows[(attempt > most) | ((limit > 0) & (attempt > limit))][:5]]:
        yield f"job {job['panda_id']} is attempt {job['attempt']} of an input that may have fewer"
    for job in jobs[rows[(most_failures > 0) & (failures >= most_failures)][:5]]:
        yield f"job {job['panda_id']} tries an input again that has failed {job['failures']} times"


def retries_wait_in_lists(arrays: Arrays, _found):
    """Input that awaits another attempt is in exactly one list of its task, and the retry module's inbox is empty."""
    waiting = arrays.ram_levels["waiting"].sum(axis=1)
    runs = arrays.splitting["n_files"] > 0
    for row in np.flatnonzero(np.where(runs, waiting < arrays.tasks["n_retry"], waiting != arrays.tasks["n_retry"])):
        yield (f"task {arrays.tasks[row]['jeditaskid']}: {waiting[row]} chunks await another attempt, "
               f"{arrays.tasks[row]['n_retry']} are counted")
    if arrays.state[0]["n_lessons"]:
        yield f"{arrays.state[0]['n_lessons']} failed jobs were not looked at by the retry module"


@compiled
def visit(jobs, roots, seen, stack):
    """Count each job of the heaps below `roots` (-1 = empty) in `seen`; stops at a job that is met twice."""
    for root in roots:
        stack[0] = root
        height = 1 if root >= 0 else 0
        while height > 0:
            height -= 1
            row = stack[height]
            seen[row] += 1
            if seen[row] > 1:
                break
            for following in (jobs[row]["child"], jobs[row]["sibling"]):
                if following >= 0:
                    stack[height] = following
                    height += 1


@compiled
def visit_lists(nodes, heads, seen):
    """Count each job of the lists that begin with `heads` (-1 = empty) in `seen`; stops at a job that is met twice."""
    for row in heads:
        while row >= 0 and seen[row] < 2:
            seen[row] += 1
            row = nodes[row]["sibling"]


def activated_jobs_can_be_found(arrays: Arrays, found: Recount):
    """Every activated job is in the heap of its pseudo-queue and share, or in the list of a task queue, once."""
    jobs = arrays.jobs
    seen, stack = np.zeros(len(jobs), np.int32), np.zeros(2 * len(jobs) + 2, np.int32)
    visit(jobs, arrays.activated.ravel(), seen, stack)
    if arrays.settings[0]["task_queues"]:
        visit_lists(arrays.ages, arrays.task_queues["head"], seen)
    wanted = np.zeros_like(seen)
    wanted[found.rows[jobs["status"][found.rows] == ACTIVATED]] = 1
    if not np.array_equal(seen, wanted):
        yield f"{np.count_nonzero(seen != wanted)} activated jobs are missing from the heaps or stand there wrongly"


def newest_jobs_stand_where_they_are_said_to(arrays: Arrays, _found):
    """The newest job noted for a pseudo-queue and share is activated and belongs to them."""
    queue, share = np.nonzero(arrays.newest_activated >= 0)
    newest = arrays.jobs[arrays.newest_activated[queue, share]]
    right = ((newest["panda_id"] > 0) & (newest["status"] == ACTIVATED) & (newest["pseudo_queue"] == queue)
             & (newest["share"] == share))
    for number in np.unique(queue[~right]):
        yield f"pseudo-queue {number}: the job that is said to have been activated last is not among its own"


def moving_jobs_have_a_transfer(arrays: Arrays, found: Recount):
    """Every job that awaits input, moves output, or reads while it runs belongs to a transfer in progress, and is
    counted there.

    Jobs without a source for their input have no transfer and are excluded.
    """
    jobs, status = arrays.jobs, arrays.jobs["status"][found.rows]
    rows = found.rows[(status == ASSIGNED) | (status == TRANSFERRING)
                      | ((status == RUNNING) & (jobs["transfer"][found.rows] >= 0))]
    under_way = arrays.transfers["transfer_id"] != 0
    rows = rows[(jobs["transfer"][rows] >= 0) | (jobs["source_site"][rows] >= 0)
                | (jobs["status"][rows] == TRANSFERRING)]
    transfer = jobs["transfer"][rows]
    lost = (transfer < 0) | ~under_way[transfer]
    for panda_id in jobs["panda_id"][rows[lost][:5]]:
        yield f"nothing moves the files of job {panda_id}"
    known = np.bincount(transfer[~lost], minlength=len(under_way))
    for row in np.flatnonzero(under_way & (known != arrays.transfers["n_jobs"])):
        yield f"transfer {arrays.transfers[row]['transfer_id']}: {known[row]} jobs await it, another number is counted"


def readings_belong_to_running_jobs(arrays: Arrays, _found):
    """Each reading whose job has not ended is of one running job that holds a slot and knows it."""
    transfers, jobs = arrays.transfers, arrays.jobs
    rows = np.flatnonzero((transfers["transfer_id"] != 0) & (transfers["kind"] == TransferKind.READING)
                          & (transfers["n_jobs"] > 0))
    job = jobs[transfers["first_job"][rows]]
    wrong = ((transfers["n_jobs"][rows] != 1) | (job["panda_id"] == 0) | (job["status"] != RUNNING)
             | (job["transfer"] != rows) | (job["due_sequence"] == 0))
    for transfer_id in transfers["transfer_id"][rows[wrong][:5]]:
        yield f"transfer {transfer_id} is a reading, but not of one running job"


def subdatasets_await_their_jobs(arrays: Arrays, found: Recount):
    """Each sub-dataset counts the jobs whose output is still to come, and lists transfers that have arrived."""
    subdatasets, transfers = arrays.subdatasets, arrays.transfers
    in_use = subdatasets["n_jobs"] > 0
    known = np.bincount(arrays.job_files["subdataset"][found.rows] + 1, minlength=len(subdatasets) + 1)[1:]
    for number in np.flatnonzero(known != np.where(in_use, subdatasets["open"], 0)):
        yield f"sub-dataset {number}: {known[number]} jobs are in it, {subdatasets['open'][number]} are counted"
    waiting = np.flatnonzero((transfers["transfer_id"] != 0) & (transfers["look_sequence"] != 0))
    listed = [in_line(arrays, first) for first in subdatasets["first"][in_use]]
    if not np.array_equal(np.sort(np.concatenate([np.zeros(0, int), *listed])), waiting):
        yield "transfers that have arrived are not those in the lists of sub-datasets"


def rows_are_free_or_in_use(arrays: Arrays, found: Recount):
    """Every row of the growing tables is either in use or free; no job is in a row that counts as never used."""
    n_free = dict(zip(REUSED, arrays.n_free, strict=True))
    for name, used in (("jobs", len(found.rows)), ("transfers", np.count_nonzero(arrays.transfers["transfer_id"])),
                       ("retries", arrays.tasks["n_retry"].sum()),
                       ("replicas", np.count_nonzero(arrays.replicas["dataset"] >= 0)),
                       ("subdatasets", np.count_nonzero(arrays.subdatasets["n_jobs"]))):
        if used + n_free[name] != len(getattr(arrays, name)):
            yield f"{name}: {used} rows in use and {n_free[name]} free of {len(getattr(arrays, name))}"
    if found.rows.max(initial=-1) >= (n_rows := arrays.state[0]["n_job_rows"]):
        yield f"jobs: row {found.rows.max()} is in use, but only {n_rows} rows are said to have been"


def merge_jobs_have_reason(arrays: Arrays, found: Recount):
    """Merge jobs and jobs that wait to be merged exist only in tasks whose output is merged."""
    jobs = arrays.jobs
    rows = found.rows[(jobs["status"][found.rows] == MERGING) | (
        (jobs["n_chunks"][found.rows] == 0) & (jobs["processing_type"][found.rows] != arrays.settings["build"]))]
    task = jobs["task"][rows]
    rows = rows[(arrays.tasks["mergeoutput"][task] == 0) & (arrays.tasks["eventservice"][task] == 0)]
    for panda_id in jobs["panda_id"][rows[:5]]:
        yield f"job {panda_id} merges or waits for it, but nothing of its task is merged"


INVARIANTS = (
    counts_equal_recount, jobs_stand_in_tables, columns_for_scans_agree, tasks_list_their_jobs, usage_equals_recount,
    activity_equals_recount, slots_are_used_once, nodes_make_up_their_pools, payloads_hold_slots,
    no_input_is_lost, input_is_held_once, attempts_stay_below_limit, retries_wait_in_lists, *STORAGE_INVARIANTS,
    activated_jobs_can_be_found, newest_jobs_stand_where_they_are_said_to, *LINK_INVARIANTS,
    moving_jobs_have_a_transfer, readings_belong_to_running_jobs, merge_jobs_have_reason, subdatasets_await_their_jobs,
    rows_are_free_or_in_use)
"""The checks of a world: functions of its arrays and the recount that yield a message for every violation."""


def broken(arrays: Arrays) -> list[str]:
    """Messages of all broken invariants; empty if the world is consistent."""
    counted = recount(arrays)
    return [message for invariant in INVARIANTS for message in invariant(arrays, counted)]


def check(arrays: Arrays) -> None:
    """Raise InvariantBroken with all messages, if there are any."""
    messages = broken(arrays)
    if messages:
        raise InvariantBroken(messages)
