"""A snapshot of a running world, as plain values that a snapshot file holds.

Job numbers and links are those that JEDI read last, with the jobs it has placed since; storages are as they are now.
"""

from collections.abc import Sequence

import numpy as np

from simgrid_broker.names import ANALYSIS_LABELS, QueueStatus
from simgrid_broker.scenario.gdpconfig import laid_over
from simgrid_broker.scenario.snapshot import BROKERAGES, COUNTED_STATUSES
from simgrid_broker.schema.grid import LINK_NUMBERS
from simgrid_broker.schema.queues import QueueNumbers
from simgrid_broker.views import UNKNOWN
from simgrid_broker.world.jobs.counts import COUNTED
from simgrid_broker.world.queues.statistics import Details
from simgrid_broker.world.snapshot.tasks import (
    InHand,
    PlannedMerge,
    Raised,
    Waits,
    as_plain,
    classes_of_queues,
    tasks_of,
    users_of,
)
from simgrid_broker.world.views.nuclei import Burden
from simgrid_broker.world.world import World

FILES = ("synthetic", "pandaqueues", "rses", "closeness", "software")
"""Keys of a grid that say what it was made of; a snapshot has it written out."""


def snapshot_of(world: World, statistics, live_rows, merges: Sequence[PlannedMerge], raised: Raised,
                config_changes=None, slots_of_class_a: float | None = None, asked: Waits | None = None) -> dict:
    """Snapshot of a world in which brokers know `statistics`, with all numbers of every queue; plain values.

    asked: about which a broker is asked now, alone in place of what waits.

    live_rows: rows of the live tasks; merges: merge jobs that wait for brokerage; raised: as in `snapshot.tasks`;
    config_changes: gdpconfig as changed since the start, by name; slots_of_class_a: USER_USAGE_THRESHOLD_A, None where
    jobs of users go by job brokerage.
    """
    scenario = world.scenario
    of_users = slots_of_class_a is not None
    tasks, chosen, named = (tasks_of(world, statistics, live_rows, merges, raised, of_users) if asked is None else
                            as_plain(world, statistics, [asked], raised, of_users))
    now = float(world.state["now_s"])
    changes = dict(config_changes or {})
    plain = dict(name=f"{scenario.name} at {now:.15g} s", time=now, statistics_at=statistics.taken_at,
                 strict=False, whole_queues=False,
                 edition=scenario.edition, seed=scenario.seed,
                 gdpconfig=laid_over(scenario.gdpconfig, changes) | changes,
                 policies=scenario.policies.model_dump(include=BROKERAGES, exclude_defaults=True),
                 resource_types={name: _plain(bounds) for name, bounds in scenario.resource_types.items()},
                 shares=[_plain(share) for share in world.shares], grid=_grid(world))
    queues = _queues(world, statistics)
    users = {} if slots_of_class_a is None else _add_users(world, named, slots_of_class_a, queues, tasks)
    return plain | users | dict(
        jobs=_jobs(world, statistics), placed=_placed(world, statistics), queues=queues,
        links=_links(world), tasks=tasks, **_of_nuclei(world, live_rows, chosen, asked))


def _add_users(world: World, named: dict[str, int], slots_of_class_a: float, queues: dict, tasks: dict) -> dict:
    """Keys of the snapshot about users if any task is of analysis; adds those of queues and tasks.

    named: row of each task and merge job of the snapshot, by its name there.
    """
    arrays, labels = world.arrays, world.vocabularies["labels"]
    of_analysis = {name: row for name, row in named.items() if labels[arrays.tasks["label"][row]] in ANALYSIS_LABELS}
    users, of_tasks = users_of(world, dict.fromkeys(of_analysis.values()), slots_of_class_a)
    if of_analysis:
        for name, numbers in classes_of_queues(world).items():
            queues[name] |= numbers
        for name, row in of_analysis.items():
            tasks[name] |= of_tasks[row]
    return {key: value for key, value in users.items() if value}


def _plain(part) -> dict:
    """Values of a part of a scenario that differ from the defaults, plain."""
    return part.model_dump(mode="json", exclude_defaults=True)


def _grid(world: World) -> dict:
    """The grid with storages and statuses of queues as they are now."""
    arrays, grid = world.arrays, world.scenario.grid
    plain = {name: value for name, value in _plain(grid).items() if name not in FILES}
    plain["queues"] = {name: dict(_plain(queue), status=QueueStatus(status).word, corecount=queue.corecount)
                       for (name, queue), status in zip(grid.queues.items(), arrays.queues["status"].tolist(),
                                                        strict=True)}
    plain["storages"] = {name: dict(_plain(storage), free=free, expired=expired) for (name, storage), free, expired in
                         zip(grid.storages.items(), arrays.storages["free_bytes"].tolist(),
                             arrays.storages["expired_bytes"].tolist(), strict=True)}
    return plain


def _jobs(world: World, statistics) -> list[dict]:
    """Job numbers by queue, share and resource type, where there are statistics of any."""
    words, counts = world.vocabularies, statistics.by_queue[:, :len(world.vocabularies["shares"])]
    rows = []
    for queue, share, kind in zip(*np.nonzero(counts.any(axis=-1)), strict=True):
        numbers = counts[queue, share, kind, list(COUNTED)].tolist()
        rows.append(dict(queue=words["queues"][queue], share=words["shares"][share],
                         resource_type=words["resource_types"][kind],
                         **{status.word: number for status, number in zip(COUNTED, numbers, strict=True)
                            if number and status.word in COUNTED_STATUSES}))
    return rows


def _placed(world: World, statistics) -> list[dict]:
    """Jobs made since the numbers were read."""
    words = world.vocabularies
    return [dict(queue=words["queues"][queue], share=words["shares"][share], jobs=int(statistics.placed[share, queue]))
            for share, queue in zip(*np.nonzero(statistics.placed[:len(words["shares"])]), strict=True)]


def _queues(world: World, statistics) -> dict[str, dict]:
    """Numbers of all PanDA queues."""
    names, activity = world.vocabularies["queues"], statistics.activity
    columns = {name: np.nan_to_num(activity[name]) for name in QueueNumbers.model_fields if name in activity}
    columns.pop("transferring_unwritable", None)            # follows from `transferring_to`
    plain = [{column: number if column == "diskio" else int(number)
              for column, number in zip(columns, row, strict=True)}
             for row in zip(*(numbers.tolist() for numbers in columns.values()), strict=True)]
    for numbers, last in zip(plain, statistics.details.laststart_s.tolist(), strict=True):
        numbers["laststart"] = max(last, 0.0)               # before a run every queue had started jobs
    _add_workers(world, statistics.details, plain)
    _add_transfers(world.vocabularies["sites"], statistics.details.transferring_to, plain)
    return dict(zip(names, plain, strict=True))


def _add_workers(world: World, details: Details, plain: list[dict]) -> None:
    """Add the workers of each queue, by resource type where it is unified."""
    pseudo, types = world.arrays.pseudo_queues, world.vocabularies["resource_types"]
    for queue, kind, submitted, running in zip(pseudo["queue"].tolist(), pseudo["resource_type"].tolist(),
                                               details.submitted.tolist(), details.running.tolist(), strict=True):
        if kind < 0:
            plain[queue] |= dict(workers_submitted=submitted, workers_running=running)
        elif submitted or running:
            plain[queue].setdefault("workers", {})[types[kind]] = dict(submitted=submitted, running=running)


def _add_transfers(sites, transferring_to: np.ndarray, plain: list[dict]) -> None:
    """Add the jobs of each queue whose output is on its way, by nucleus."""
    for queue, site in zip(*np.nonzero(transferring_to), strict=True):
        plain[queue].setdefault("transferring_to", {})[sites[site]] = int(transferring_to[queue, site])


def _links(world: World) -> list[dict]:
    """Numbers of the links of which brokers know more than how close the sites are."""
    table, sites = world.network.table[:-1], world.vocabularies["sites"]
    is_known = table["known"] & ((table["closeness"] == UNKNOWN["closeness"]) | ~np.isnan(table["mbps_week"])
                                 | (table["queued_files"] > 0) | (table["queued_express"] > 0))
    rows = []
    for destination, source in zip(*np.nonzero(is_known), strict=True):
        numbers = {column.name: table[column.name][destination, source].item() for column in LINK_NUMBERS}
        rows.append(dict(source=sites[source], destination=sites[destination],
                         **{column: number for column, number in numbers.items() if number == number and number}))
    return rows


def _of_nuclei(world: World, live_rows, chosen, asked: Waits | None) -> dict:
    """Output on its way to nuclei, and what they owe: at this moment, or in the turn in which a broker is asked."""
    burden = asked.burden if isinstance(asked, InHand) else None
    burden = Burden(world, live_rows) if burden is None else burden
    nuclei: dict[str, dict] = {
        name: dict(queued_files=int(burden.files[k]), queued_bytes=float(burden.bytes[k])) for k, name in
        enumerate(world.vocabularies["sites"]) if burden.files[k] or world.arrays.sites["nucleus"][k]}
    if not burden.is_untouched:
        of_space, _ = burden.of(chosen[0])
        for name, work in zip(world.vocabularies["sites"], of_space.tolist(), strict=True):
            nuclei.setdefault(name, {})["work"] = work
    return dict(nuclei=nuclei, work=_work(world, burden, chosen))


def _work(world: World, burden: Burden, chosen) -> list[dict]:
    """Work that the open tasks beside the chosen ones owe to nuclei, by nucleus, label, share and priority."""
    tasks, words, counted = world.arrays.tasks, world.vocabularies, slice(burden.work.numbers[-1])
    sums: dict[tuple, float] = {}
    for row, left in zip(burden.work.rows[counted].tolist(), burden.work.work[counted].tolist(), strict=True):
        if row not in chosen:
            key = tuple(tasks[column][row].item() for column in ("nucleus", "label", "share", "priority"))
            sums[key] = sums.get(key, 0.0) + left
    return [dict(nucleus=words["sites"][nucleus], hs06sec=work, prodsourcelabel=words["labels"][label],
                 gshare=words["shares"][share], priority=priority)
            for (nucleus, label, share, priority), work in sorted(sums.items()) if work > 0]
