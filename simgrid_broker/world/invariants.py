"""What must hold of a world whatever happened: everything is counted again from the rows.

What lives here: one small check for each invariant, and `check`, which asks them all. What does not: repair.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.errors import InvariantBroken
from simgrid_broker.names import JobStatus, TransferKind
from simgrid_broker.world.groups import in_resource_queue

EXECUTING = (JobStatus.SENT, JobStatus.RUNNING)
RUNNING, ACTIVATED = int(JobStatus.RUNNING), int(JobStatus.ACTIVATED)
ASSIGNED, TRANSFERRING = int(JobStatus.ASSIGNED), int(JobStatus.TRANSFERRING)


def live(arrays) -> np.ndarray:
    """Rows of the jobs that are alive."""
    return np.flatnonzero(arrays.jobs["panda_id"])


def of_live(arrays, *names: str) -> list[np.ndarray]:
    """Some columns of the live jobs, (n_live,) each."""
    rows = live(arrays)
    return [arrays.jobs[name][rows] for name in names]


def groups(arrays, tasks: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Group in which jobs of some tasks and shares are counted: by share and Resource queue."""
    special = in_resource_queue(arrays, tasks) * (arrays.tasks["work_queue"][tasks].astype(np.int64) + 1)
    return shares + len(arrays.hs06_milli) * special


def recount(counted: np.ndarray, *places: np.ndarray, worth: np.ndarray | None = None) -> np.ndarray:
    """What a table of counts, of any shape, should hold if each job counts (or is `worth`) one at its place there."""
    cells = np.ravel_multi_index(places, counted.shape)
    return np.bincount(cells, worth, counted.size).reshape(counted.shape)


def counts_equal_recount(arrays):
    """Counts by queue, share, resource type, status and by user equal those of the rows."""
    queue, task, share, kind, status, user = of_live(
        arrays, "queue", "task", "share", "resource_type", "status", "user")
    counts = recount(arrays.counts, queue, groups(arrays, task, share), kind, status)
    if not np.array_equal(counts, arrays.counts):
        yield f"counts differ from a recount in {np.count_nonzero(counts != arrays.counts)} places"
    if not np.array_equal(recount(arrays.user_counts, user, status), arrays.user_counts):
        yield "counts by user differ from a recount"


def usage_equals_recount(arrays):
    """Power in use by share and running cores, by queue and by user, equal those of the rows."""
    status, share, hs06 = of_live(arrays, "status", "share", "hs06_milli")
    busy = np.isin(status, EXECUTING)
    if not np.array_equal(recount(arrays.hs06_milli, share[busy], worth=hs06[busy]), arrays.hs06_milli):
        yield "power in use by share differs from a recount"
    running = status == RUNNING
    queue, task, share, kind, cores, user = (column[running] for column in of_live(
        arrays, "queue", "task", "share", "resource_type", "corecount", "user"))
    if not np.array_equal(recount(arrays.running_cores, queue, groups(arrays, task, share), kind, worth=cores),
                          arrays.running_cores):
        yield "running cores differ from a recount"
    if not np.array_equal(recount(arrays.user_cores, user, worth=cores), arrays.user_cores):
        yield "running cores by user differ from a recount"


def slots_are_used_once(arrays):
    """Cores and memory of each batch system equal what is free and what its workers hold, and none is overdrawn."""
    pseudo = arrays.pseudo_queues
    cores, memory = np.zeros(len(arrays.pools)), np.zeros(len(arrays.pools))
    np.add.at(cores, pseudo["pool"], pseudo["n_running"] * pseudo["corecount"].astype(float))
    np.add.at(memory, pseudo["pool"], pseudo["n_running"] * pseudo["worker_mb"])
    for pool in np.flatnonzero((arrays.pools["free_cores"] < 0) | (arrays.pools["free_mb"] < -1e-3)):
        yield f"batch system {pool} has given away more than it has"
    for pool in np.flatnonzero(cores + arrays.pools["free_cores"] != arrays.pools["cores"]):
        yield f"batch system {pool}: cores held and free do not add up"
    for pool in np.flatnonzero(np.abs(memory + arrays.pools["free_mb"] - arrays.pools["memory_mb"]) > 1.0):
        yield f"batch system {pool}: memory held and free does not add up"


def payloads_hold_slots(arrays):
    """No pseudo-queue runs more payloads than it has workers."""
    status, due, number = of_live(arrays, "status", "due_sequence", "pseudo_queue")
    payloads = np.bincount(number[(status == RUNNING) & (due != 0)], minlength=len(arrays.pseudo_queues))
    for number in np.flatnonzero(payloads > arrays.pseudo_queues["n_running"]):
        yield f"pseudo-queue {number} runs more payloads than it has workers"


def no_input_is_lost(arrays):
    """Every chunk of every task is new, alive, waiting for another attempt, processed or given up."""
    tasks = arrays.tasks
    made = tasks["next_chunk"]
    task, n_chunks = of_live(arrays, "task", "n_chunks")
    alive = np.bincount(task, minlength=len(tasks))
    pieces = np.bincount(task, n_chunks, minlength=len(tasks)).astype(np.int64)
    waiting = arrays.ram_levels["waiting"].sum(axis=1)
    known = pieces + waiting + tasks["n_finished"] + tasks["n_failed"]
    for row in np.flatnonzero(made != known):
        yield f"task {tasks[row]['jeditaskid']}: {made[row]} chunks were given out, {known[row]} are accounted for"
    for row in np.flatnonzero(alive != tasks["n_alive"]):
        yield f"task {tasks[row]['jeditaskid']}: {alive[row]} jobs are alive, {tasks[row]['n_alive']} are counted"


def attempts_stay_below_limit(arrays):
    """No live job but merge jobs has more attempts or failures than its task and the retry rules allow."""
    n_chunks, attempt, failures, limit, task = of_live(
        arrays, "n_chunks", "attempt", "failures", "attempt_limit", "task")
    own = n_chunks > 0
    most, most_failures = arrays.tasks["max_attempt"][task], arrays.tasks["max_failure"][task]
    rows, jobs = live(arrays), arrays.jobs
    for job in jobs[rows[own & ((attempt > most) | ((limit > 0) & (attempt > limit)))][:5]]:
        yield f"job {job['panda_id']} is attempt {job['attempt']} of an input that may have fewer"
    for job in jobs[rows[own & (most_failures > 0) & (failures >= most_failures)][:5]]:
        yield f"job {job['panda_id']} tries an input again that has failed {job['failures']} times"


def retries_wait_in_lists(arrays):
    """What awaits another attempt stands in one list of its task, and nothing is left with the retry module."""
    waiting = arrays.ram_levels["waiting"].sum(axis=1)
    runs = arrays.splitting["n_files"] > 0
    for row in np.flatnonzero(np.where(runs, waiting < arrays.tasks["n_retry"], waiting != arrays.tasks["n_retry"])):
        yield (f"task {arrays.tasks[row]['jeditaskid']}: {waiting[row]} chunks await another attempt, "
               f"{arrays.tasks[row]['n_retry']} are counted")
    if arrays.state[0]["n_lessons"]:
        yield f"{arrays.state[0]['n_lessons']} failed jobs were not looked at by the retry module"


def space_is_not_negative(arrays):
    """No storage is overdrawn."""
    storages = arrays.storages
    for number in np.flatnonzero((storages["free_bytes"] < 0) | (storages["expired_bytes"] < 0)):
        yield f"storage {number} has negative space"


@compiled
def visit(jobs, root, seen, stack):
    """Count each job of the heap below `root` in `seen`; a job met twice ends the walk."""
    stack[0] = root
    height = 1
    while height > 0:
        height -= 1
        row = stack[height]
        seen[row] += 1
        if seen[row] > 1:
            return
        for following in (jobs[row]["child"], jobs[row]["sibling"]):
            if following >= 0:
                stack[height] = following
                height += 1


def activated_jobs_can_be_found(arrays):
    """Every activated job stands in the heap of its pseudo-queue and share, once."""
    jobs = arrays.jobs
    seen, stack = np.zeros(len(jobs), np.int64), np.zeros(2 * len(jobs) + 2, np.int32)
    for root in arrays.activated[arrays.activated >= 0]:
        visit(jobs, root, seen, stack)
    wanted = np.zeros(len(jobs), np.int64)
    rows = live(arrays)
    wanted[rows[jobs["status"][rows] == ACTIVATED]] = 1
    if not np.array_equal(seen, wanted):
        yield f"{np.count_nonzero(seen != wanted)} activated jobs are missing from the heaps or stand there wrongly"


def files_in_line(arrays, row) -> tuple[int, int, int]:
    """Files, files of output and transfers in the list that begins with the transfer in `row`; -1 = an empty list."""
    files = output = bunches = 0
    while row >= 0:
        transfer = arrays.transfers[row]
        files, bunches = files + transfer["n_files"], bunches + 1
        output += transfer["n_files"] * (transfer["kind"] == TransferKind.OUTPUT)
        row = transfer["next"]
    return files, output, bunches


def links_add_up(arrays):
    """Files of each link equal those of its transfers; active ones respect the limit but for single bunches."""
    links = arrays.links
    busy = (links["active_head"] >= 0) | (links["queued_files"] != 0) | (links["active_files"] != 0)
    for number in np.flatnonzero(busy):
        link = links[number]
        files, output, bunches = files_in_line(arrays, link["active_head"])
        waiting, waiting_output, _ = files_in_line(arrays, link["waiting_head"])
        if files != link["active_files"] or (files > link["max_active_files"] and bunches > 1):
            yield f"link {number}: {link['active_files']} active files counted, {files} found in {bunches} transfers"
        if files + waiting != link["queued_files"]:
            yield f"link {number}: {link['queued_files']} queued files counted, {files + waiting} found"
        if output + waiting_output != link["queued_output"] + link["queued_express"]:
            yield f"link {number}: files of output that are queued are not those that are counted"


def moving_jobs_have_a_transfer(arrays):
    """Every job that awaits input or moves output belongs to a transfer that is under way, and is counted there.

    Left out are jobs whose input nobody can send: they wait for nothing.
    """
    status, transfer, source = of_live(arrays, "status", "transfer", "source_site")
    moves = (status == TRANSFERRING) | ((status == ASSIGNED) & ((transfer >= 0) | (source >= 0)))
    under_way = arrays.transfers["transfer_id"] != 0
    jobs = arrays.jobs[live(arrays)[moves]]
    lost = (jobs["transfer"] < 0) | ~under_way[jobs["transfer"]]
    for job in jobs[lost][:5]:
        yield f"nothing moves the files of job {job['panda_id']}"
    known = np.bincount(jobs["transfer"][~lost], minlength=len(under_way))
    for row in np.flatnonzero(under_way & (known != arrays.transfers["n_jobs"])):
        yield f"transfer {arrays.transfers[row]['transfer_id']}: {known[row]} jobs await it, another number is counted"


def rows_are_free_or_in_use(arrays):
    """Every row of the growing tables is either in use or free."""
    state = arrays.state[0]
    for name, used in (("jobs", np.count_nonzero(arrays.jobs["panda_id"])),
                       ("transfers", np.count_nonzero(arrays.transfers["transfer_id"])),
                       ("retries", arrays.tasks["n_retry"].sum())):
        if used + state[f"n_free_{name}"] != len(getattr(arrays, name)):
            yield f"{name}: {used} rows in use and {state[f'n_free_{name}']} free of {len(getattr(arrays, name))}"


def merge_jobs_have_reason(arrays):
    """Jobs wait to be merged, and merge jobs are there, in tasks whose output is merged alone."""
    status, n_chunks, task = of_live(arrays, "status", "n_chunks", "task")
    merging = (status == JobStatus.MERGING) | (n_chunks == 0)
    for job in arrays.jobs[live(arrays)[merging & (arrays.tasks["mergeoutput"][task] == 0)][:5]]:
        yield f"job {job['panda_id']} merges or waits for it, but nothing of its task is merged"


INVARIANTS = (
    counts_equal_recount, usage_equals_recount, slots_are_used_once, payloads_hold_slots, no_input_is_lost,
    attempts_stay_below_limit, retries_wait_in_lists, space_is_not_negative, activated_jobs_can_be_found, links_add_up,
    moving_jobs_have_a_transfer, merge_jobs_have_reason, rows_are_free_or_in_use,
)
"""Every check of a world; each yields a message for whatever is broken."""


def broken(arrays) -> list[str]:
    """Messages of all broken invariants, empty if the world is sound."""
    return [message for invariant in INVARIANTS for message in invariant(arrays)]


def check(arrays) -> None:
    """Raise InvariantBroken with all that is wrong, if anything is."""
    messages = broken(arrays)
    if messages:
        raise InvariantBroken(messages)
