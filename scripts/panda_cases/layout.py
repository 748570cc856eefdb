"""The layout of a case: what it leaves out, or has as null, is empty, and rows without what they need are left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Rows:
    """A list of rows of one layout; a row without one of the keys that it needs is left out."""

    of: Any
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """Entries of one layout by name; those that are null are left out."""

    of: Any


def number(value: Any) -> Any:
    """A number; nothing for all else."""
    return value if isinstance(value, (int, float)) else None


def column(value: Any) -> Any:
    """A whole number that a column of PanDA's tables can hold; nothing for all else."""
    return max(-2**31, min(int(value), 2**31 - 1)) if isinstance(value, (int, float)) else None


def text(value: Any) -> Any:
    """A text, or a number as such."""
    return value if value is None or isinstance(value, str) else str(value)


def identifier(value: Any) -> int:
    """A jeditaskid; 1 for all else."""
    return value if isinstance(value, int) and value > 0 else 1


def resource_type(value: Any) -> Any:
    """A row of a resource type, [name, mincore, maxcore, minrampercore, maxrampercore]; nothing without a name."""
    row = value if isinstance(value, list) else []
    return [*row, None, None, None, None][:5] if row and isinstance(row[0], str) else None


def row_of_use(value: Any) -> Any:
    """A row of the use of a share, [share, status group, HS06]; nothing where one of these is missing."""
    return [*value[:2], number(value[2])] if isinstance(value, list) and len(value) == 3 else None


def anything(value: Any) -> Any:
    """A value as it is."""
    return value


def complete(value: Any, layout: Any) -> Any:
    """A value with all that its layout has."""
    if isinstance(layout, Rows):
        rows = (complete(row, layout.of) for row in (value if isinstance(value, list) else ()))
        return [row for row in rows if row is not None and all(row.get(key) is not None for key in layout.needs)]
    if isinstance(layout, Table):
        entries = value.items() if isinstance(value, Mapping) else ()
        return {name: found for name, entry in entries if entry is not None
                and (found := complete(entry, layout.of)) is not None}
    if isinstance(layout, Mapping):
        given = value if isinstance(value, Mapping) else {}
        known = {key: complete(given.get(key), part) for key, part in layout.items()}
        return {**given, **{key: found for key, found in known.items() if found is not None or key in given}}
    return layout(value)


COUNTS = Table(number)
ENDPOINT_OF_QUEUE = dict(rse=text, scope=text, roles=Rows(text), default_read=text, default_write=text, is_local=text,
                         order_read=number, order_write=number)
QUEUE = dict(
    endpoints=Rows(ENDPOINT_OF_QUEUE, ("rse",)), num_slots=Rows(dict(slots=number), ("slots",)), releases=Rows(text),
    params=Table(anything), **dict.fromkeys(
        ("corecount", "maxrss", "minrss", "meanrss", "maxtime", "mintime", "maxwdir", "maxinputsize", "corepower",
         "pledgedcpu", "transferringlimit", "maxdiskio"), number), **dict.fromkeys(
        ("fairsharepolicy", "catchall", "wnconnectivity", "cloud", "status", "type", "capability", "workflow",
         "jobseed", "role"), text))
ENDPOINT = dict(name=text, type=text, detailed_status=Table(text), **dict.fromkeys(
    ("space_total", "space_free", "space_expired", "space_min_free", "space_unavailable"), number))
SHARE = dict(name=text, value=number, parent=text)
GRID = dict(
    queues=Rows(QUEUE, ("name", "site")), endpoints=Rows(ENDPOINT, ("name", "site")), shares=Rows(SHARE, ("name",)),
    resource_types=Rows(resource_type), software=Table(Table(anything)), architecture_levels=Table(Table(COUNTS)),
    gpus=Table(Rows(Table(anything))), job_stats=Table(Table(Table(COUNTS))), transferring_by_nucleus=Table(COUNTS),
    core_stats=Table(COUNTS), network=Table(Table(COUNTS)), inactive_queues=Rows(text), locked_queues=Rows(text),
    ups_queues=Rows(text), disk_io=COUNTS, pilots=Table(COUNTS), workers=Table(Table(COUNTS)),
    gdpconfig=Table(Table(anything)))
FILE = dict(lfn=text, fsize=number, n_events=number, start_event=number, end_event=number)
DATASET = dict(name=text, type=text, attributes=text, files=Rows(FILE, ("lfn",)))
CHUNK = dict(master=DATASET, secondaries=Rows(DATASET, ("name",)), ram_count=number)
REPLICA = dict(total=number, found=number, tsize=number, asize=number)
RUCIO = Table(dict(n_files=number, size=number, replicas=Table(REPLICA), file_replicas=Table(Rows(text)),
                   vp_rses=Rows(text), constituents=Rows(text)))
RULES = Table(anything)
TASK = dict(jediTaskID=identifier, split_rules=RULES, frozen_hours_ago=number, **dict.fromkeys(
    ("currentPriority", "taskPriority", "coreCount", "ramCount", "baseRamCount", "mergeRamCount", "mergeCoreCount",
     "cpuEfficiency", "baseWalltime", "walltime", "outDiskCount", "diskIO", "ioIntensity", "cpuTime", "workDiskCount"),
    number), **dict.fromkeys(
    ("gshare", "processingType", "workingGroup", "nucleus", "resource_type", "transHome", "architecture",
     "container_name", "ramUnit", "walltimeUnit", "outDiskUnit", "prodSourceLabel", "userName", "site", "cpuTimeUnit",
     "workDiskUnit", "cloud"), text))


def parent(value: Any) -> Any:
    """The task that makes the input, if there is one."""
    return complete(value, dict(split_rules=RULES, nucleus=text)) if isinstance(value, Mapping) else None


OF_JOBS = dict(grid=GRID, rucio=RUCIO, task=TASK, chunk=CHUNK, task_resource_types=Table(Rows(text)),
               live_counter=COUNTS, n_ready_events=number)
"""A case of production job brokerage."""
OF_ANALYSIS = OF_JOBS | dict(
    failure_counts=Table(COUNTS), sites_used_by_task=Rows(text), task_params=RULES, site_class=Table(anything),
    run_rates=COUNTS, user_totals=COUNTS, user_eval=COUNTS, task_eval=Table(anything), over_local_quota=Rows(text),
    user_stats=Table(Table(Table(dict(nQueue=number, nRunning=number)))), gshare_usage=Table(COUNTS))
"""A case of analysis job brokerage."""
OF_TASKS = dict(
    grid=GRID, rucio=RUCIO, task_resource_types=Table(Rows(text)), full_rw=COUNTS, prio_rw=Table(COUNTS),
    tasks=Rows(dict(task=TASK, chunk=CHUNK, outputs=Rows(dict(storage_token=text), ("storage_token",)), task_rw=number,
                    params=RULES, u=number, parent=parent)))
"""A case of task brokerage."""

COUNTS_BY_TYPE = Table(COUNTS)
OF_SHARES = dict(shares=Rows(SHARE, ("name",)), hs_distribution=Rows(row_of_use))
"""A case of the order of the shares."""
OF_STREAMING = OF_SHARES | dict(
    queue=dict(corecount=number, status=text, params=Table(anything), uconfig=Table(COUNTS)),
    worker_stats=Table(Table(Table(COUNTS))), average_memory=COUNTS, resource_types=Rows(resource_type),
    activated_jobs=Rows(dict(gshare=text, resource_type=text, priority=column), ("gshare", "resource_type")))
"""A case of unified pilot streaming."""
OF_THROTTLER = dict(
    gs_throttled=bool, total_walltime=number, highest_prio_waiting=number, stats=COUNTS_BY_TYPE, standby_static=COUNTS,
    standby_dynamic=COUNTS, highest_prio_job=COUNTS, resource_type=text, share=text)
"""A case of the throttler."""
OF_SOFTWARE = dict(queues=Table(dict(releases=Rows(text))), software=GRID["software"],
                   architecture_levels=GRID["architecture_levels"], gpus=GRID["gpus"],
                   task=dict(architecture=text, transHome=text, container_name=text))
"""A case of the check of software and hardware."""
OF_ZERO_SHARE = dict(priority=number, **dict.fromkeys(("fairsharepolicy", "processingType", "workingGroup", "gshare"),
                                                      text))
"""A case of zero share."""
