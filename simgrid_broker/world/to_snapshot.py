"""A snapshot of a running world, as plain values that a snapshot file holds.

Job numbers and links are those that JEDI read last, with the jobs it has placed since; storages are as they are now.
"""

import numpy as np

from simgrid_broker.names import QueueStatus, TaskStatus
from simgrid_broker.scenario.gdpconfig import laid_over
from simgrid_broker.scenario.snapshot_task import JOB_BROKERAGE, TASK_BROKERAGE, SnapshotTask
from simgrid_broker.schema.attribute import columns_of
from simgrid_broker.schema.grid import LINK_NUMBERS
from simgrid_broker.schema.queues import QueueNumbers
from simgrid_broker.schema.tasks import Chain
from simgrid_broker.views import UNKNOWN
from simgrid_broker.world.from_snapshot import COUNTED
from simgrid_broker.world.nuclei import OPEN_TASKS, claimed_work, nucleus_number, output_on_the_way
from simgrid_broker.world.observe import replicas, values_of
from simgrid_broker.world.world import World

T = TaskStatus
ORDER = (
    "brokerage name username processingtype prodsourcelabel workinggroup campaign transpath architecture transhome "
    "container_name ipConnectivity priority corecount n_jobs n_finished n_failed events_per_job cputime cpuefficiency "
    "basewalltime ramcount baseramcount workdiskcount iointensity input_per_job output_per_job files_per_job t1Weight "
    "inputPreStaging taskBrokerOnMaster secondary_input onlyTagsForFC diskIO maxCoreCount useLocalIO mergeOutput "
    "eventService nEsConsumers nJumboJobs maxAttemptES minGranularity walltime allowInputLAN site maxEventsPerJob "
    "gshare ramunit frozen_for input fullChain parent nucleus n_jobs_to_broker"
).split()
"""Keys of a task in the order of the file; others follow."""
FILES = ("synthetic", "pandaqueues", "rses", "closeness", "software")
"""Keys of a grid that say what it was made of; a snapshot has it written out."""


def snapshot_of(world: World, statistics, live_rows, config_changes=None) -> dict:
    """Snapshot of a world in which brokers know `statistics`, with all numbers of every queue; plain values.

    live_rows: rows of the live tasks; config_changes: gdpconfig as changed since the start, by name.
    """
    scenario = world.scenario
    chosen = waiting(world, live_rows)[:scenario.record.snapshot_tasks]
    now = float(world.state["now_s"])
    changes = dict(config_changes or {})
    plain = dict(name=f"{scenario.name} at {now:.15g} s", time=now, statistics_at=statistics.taken_at,
                 edition=scenario.edition, gdpconfig=laid_over(scenario.gdpconfig, changes) | changes,
                 policies=scenario.policies.model_dump(exclude_defaults=True),
                 resource_types={name: _said(bounds) for name, bounds in scenario.resource_types.items()},
                 shares=[_said(share) for share in world.shares], grid=_grid(world))
    return plain | dict(
        jobs=_jobs(world, statistics), placed=_placed(world, statistics), queues=_queues(world, statistics),
        links=_links(world), nuclei=_nuclei(world), work=_work(world, live_rows, chosen),
        tasks={str(world.arrays.tasks["jeditaskid"][row]): _task(world, row) for row in chosen.tolist()})


def waiting(world: World, live_rows) -> np.ndarray:
    """Rows of the live tasks that wait for either brokerage, the highest priority first."""
    tasks = world.arrays.tasks[live_rows]
    has_input = tasks["n_retry"] + tasks["n_jobs"] > tasks["next_chunk"]
    mask = np.isin(tasks["status"], (T.READY, T.RUNNING, T.PENDING)) & has_input | (tasks["status"] == T.ASSIGNING)
    return live_rows[mask][np.argsort(-tasks["priority"][mask], kind="stable")]


def _said(part) -> dict:
    """What a part of a scenario says beyond its defaults, plain."""
    return part.model_dump(mode="json", exclude_defaults=True)


def _grid(world: World) -> dict:
    """The grid with storages and statuses of queues as they are now."""
    arrays, grid = world.arrays, world.scenario.grid
    said = _said(grid)
    plain = {name: value for name, value in said.items() if name not in FILES}
    plain["queues"] = {name: dict(_said(queue), status=QueueStatus(status).word, corecount=queue.corecount)
                       for (name, queue), status in zip(grid.queues.items(), arrays.queues["status"].tolist(),
                                                        strict=True)}
    plain["storages"] = {name: dict(_said(storage), free=free, expired=expired) for (name, storage), free, expired in
                         zip(grid.storages.items(), arrays.storages["free_bytes"].tolist(),
                             arrays.storages["expired_bytes"].tolist(), strict=True)}
    return plain


def _jobs(world: World, statistics) -> list[dict]:
    """Job numbers by queue, share and resource type, where there are any."""
    words, counts = world.vocabularies, statistics.by_queue[:, :len(world.vocabularies["shares"]), :, list(COUNTED)]
    rows = []
    for queue, share, kind in zip(*np.nonzero(counts.any(axis=-1)), strict=True):
        numbers = counts[queue, share, kind].tolist()
        rows.append(dict(queue=words["queues"][queue], share=words["shares"][share],
                         resource_type=words["resource_types"][kind],
                         **{status.word: number for status, number in zip(COUNTED, numbers, strict=True) if number}))
    return rows


def _placed(world: World, statistics) -> list[dict]:
    """Jobs made since the numbers were read."""
    words = world.vocabularies
    return [dict(queue=words["queues"][queue], share=words["shares"][share], jobs=int(statistics.placed[share, queue]))
            for share, queue in zip(*np.nonzero(statistics.placed[:len(words["shares"])]), strict=True)]


def _queues(world: World, statistics) -> dict[str, dict]:
    """What is known of all PanDA queues."""
    arrays, names, known = world.arrays, world.vocabularies["queues"], statistics.activity
    running = np.bincount(arrays.pseudo_queues["queue"], arrays.pseudo_queues["n_running"], len(names))
    running = np.minimum(running, statistics.workers)
    columns = dict(workers_submitted=statistics.workers - running, workers_running=running,
                   cores_starting=known["cores_starting"])
    columns |= {name: np.nan_to_num(known[name]) for name in QueueNumbers.model_fields if name in known}
    plain: dict[str, dict] = {name: {} for name in names}
    for column, numbers in columns.items():
        for name, number in zip(names, numbers.tolist(), strict=True):
            plain[name][column] = number if column == "diskio" else int(number)
    for name, last in zip(names, arrays.queues["laststart_s"].tolist(), strict=True):
        plain[name]["laststart"] = max(last, 0.0)          # before a run every queue had started jobs
    return plain


def _links(world: World) -> list[dict]:
    """What brokers know of links, where that is more than how close the sites are."""
    table, sites = world.network.table[:-1], world.vocabularies["sites"]
    told = table["known"] & ((table["closeness"] == UNKNOWN["closeness"]) | ~np.isnan(table["mbps_week"])
                             | (table["queued_files"] > 0) | (table["queued_express"] > 0))
    rows = []
    for destination, source in zip(*np.nonzero(told), strict=True):
        numbers = {column.name: table[column.name][destination, source].item() for column in LINK_NUMBERS}
        rows.append(dict(source=sites[source], destination=sites[destination],
                         **{column: number for column, number in numbers.items() if number == number and number}))
    return rows


def _nuclei(world: World) -> dict[str, dict]:
    """Output on its way to sites."""
    files, size = output_on_the_way(world)
    return {name: dict(queued_files=int(files[k]), queued_bytes=float(size[k])) for k, name in
            enumerate(world.vocabularies["sites"]) if files[k] or world.arrays.sites["nucleus"][k]}


def _work(world: World, live_rows, chosen) -> list[dict]:
    """Work that the open tasks beside the chosen ones owe to nuclei, by nucleus, label, share and priority."""
    tasks, words = world.arrays.tasks, world.vocabularies
    rows = np.setdiff1d(live_rows, chosen)
    rows = rows[np.isin(tasks["status"][rows], OPEN_TASKS) & (tasks["nucleus"][rows] >= 0)]
    left = tasks["n_jobs"][rows] - tasks["n_finished"][rows] - tasks["n_failed"][rows]
    sums: dict[tuple, float] = {}
    for key, work in zip(zip(*(tasks[column][rows].tolist() for column in ("nucleus", "label", "share", "priority")),
                             strict=True), claimed_work(tasks, rows, left).tolist(), strict=True):
        sums[key] = sums.get(key, 0.0) + work
    return [dict(nucleus=words["sites"][nucleus], hs06sec=work, prodsourcelabel=words["labels"][label],
                 gshare=words["shares"][share], priority=priority)
            for (nucleus, label, share, priority), work in sorted(sums.items()) if work > 0]


def _task(world: World, row: int) -> dict:
    """What brokers may know of a task, under the names of a snapshot."""
    task, words = values_of(world.arrays.tasks, row), world.vocabularies
    to_nucleus = task["status"] == T.ASSIGNING or (task["status"] == T.PENDING and task["old_status"] == T.ASSIGNING)
    plain = _claims(SnapshotTask, task, words)
    plain |= dict(brokerage=TASK_BROKERAGE if to_nucleus else JOB_BROKERAGE, luck=task["luck"],
                  input=_input(world, row),
                  frozen_for=0.0 if np.isnan(task["frozen_s"]) else float(world.state["now_s"] - task["frozen_s"]))
    if task["taskpriority"] != task["priority"]:
        plain["taskpriority"] = task["taskpriority"]
    if task["parent"] > 0:
        plain["parent"] = _claims(Chain, values_of(world.arrays.tasks, task["parent"] - 1), words)
    plain["next_jobs"] = dict(scout=bool(world.arrays.scout_inputs[row]))
    if to_nucleus:
        plain["next_jobs"]["u"] = nucleus_number(world, row)
    else:
        plain["n_jobs_to_broker"] = task["n_retry"] + task["n_jobs"] - task["next_chunk"]
    return {key: plain[key] for key in (*ORDER, *plain) if key in plain}


def _claims(sheet, task: dict, words) -> dict:
    """What a task claims, by the keys of a sheet; null is left out where it is the default."""
    plain = {column.key: column.back(task[column.name], words) for column in columns_of(sheet)}
    return {key: value for key, value in plain.items()
            if value is not None or sheet.model_fields[key].default is not None}


def _input(world: World, row: int) -> dict[str, dict]:
    """Parts of a task's input by site, on disk and on tape."""
    found: dict[str, dict] = {}
    for site, part, is_tape in replicas(world, row):
        at, kind = found.setdefault(world.vocabularies["sites"][site], {}), "tape" if is_tape else "disk"
        at[kind] = max(at.get(kind, 0.0), part)
    return found
