"""Runs of a handful of rows, written out by hand, for figures that can be checked by eye."""

import numpy as np

from simgrid_broker.names import Cause, JobStatus, TaskStatus
from simgrid_broker.records import RunWriter, read_run, write_manifest
from simgrid_broker.schema import JOB_TIMES, JOBS, RECORDED, TASK_TIMES, TASKS

HOUR = 3600.0
TREE = {"names": ["all", "A", "B", "B1", "B2"], "parent": [-1, 0, 0, 2, 2], "value": [100, 40, 60, 50, 10],
        "leaves": [1, 3, 4]}
SHARES = ("A", "B1", "B2")
VOCABULARIES = {column.codes: tuple(f"{column.codes}{k}" for k in range(3))
                for table in RECORDED.values() for column in table.columns if column.codes}
VOCABULARIES |= {"shares": SHARES, "sites": ("X", "Y"), "queues": ("QX", "QY", "QY2"), "tags": ("-t1", "-t2"),
                 "criteria": ("one", "two"),
                 "candidates": ("QX", "QY", "QY2", "X", "Y"), "resource_types": ("SCORE", "MCORE"),
                 "storages": ("X_DISK", "Y_DISK"), "campaigns": ("C1", "C2")}


def queue_columns(n_rows):
    """All columns of queues.parquet but the time, zero."""
    return {column.name: np.zeros(n_rows, int) for column in RECORDED["queues"].columns[1:]}


def job(share="A", status=JobStatus.FINISHED, cause=Cause.NONE, cores=1, **hours):
    """One job: its times in hours by status, and other columns by their names."""
    return share, status, cause, cores, hours


def job_rows(jobs):
    """Rows and times of jobs made by `job`."""
    rows, times = JOBS.empty(len(jobs)), np.full((len(jobs), len(JOB_TIMES)), np.nan)
    for k, (share, status, cause, cores, hours) in enumerate(jobs):
        rows[k]["share"], rows[k]["status"], rows[k]["cause"] = SHARES.index(share), status, cause
        rows[k]["corecount"] = cores
        for name, hour in hours.items():
            if name in JOBS.dtype.names:
                rows[k][name] = hour
            else:
                times[k, JobStatus.of(name)] = hour * HOUR
    return rows, times


def task_rows(tasks):
    """Rows and times of tasks given as (campaign code, arrival in hours, status, end in hours or NaN)."""
    rows, times = TASKS.empty(len(tasks)), np.full((len(tasks), len(TASK_TIMES)), np.nan)
    for k, (campaign, arrival, status, end) in enumerate(tasks):
        rows[k]["campaign"], rows[k]["arrival_s"], rows[k]["status"] = campaign, arrival * HOUR, status
        if status in (TaskStatus.DONE, TaskStatus.FAILED):
            times[k, status] = end * HOUR
    return rows, times


def share_rows(samples):
    """Rows of shares.parquet from {hour: {share: (hs06, target, activated)}}, each over two resource types."""
    rows = []
    for hour, shares in samples.items():
        for share, (hs06, target, activated) in shares.items():
            for kind, part in enumerate((0.25, 0.75)):
                rows.append((hour * HOUR, SHARES.index(share), kind, hs06 * part, target, hs06 * part / 10,
                             hs06 * part / 10, activated if kind == 0 else 0, 0, 0, activated if kind == 0 else 0))
    return {name: np.array(column) for name, column in zip(
        ("time_s", "share", "resource_type", "hs06", "target_hs06", "running_cores", "running", "activated", "assigned",
         "transferring", "queued"), zip(*rows, strict=True), strict=True)}


def run_of(folder, warm_up_h=0.0, duration_h=10.0, status="complete", simulated_h=None, jobs=(), grid=None, **tables):
    """A run whose tables hold exactly what is given; grid: what the scenario says of its grid beyond sites and queues.
    """
    queues = {"QX": {"atlas_site": "X"}, "QY": {"atlas_site": "Y"}, "QY2": {"atlas_site": "Y"}}
    sites = {"X": {"cores": 60}, "Y": {"cores": 40}}
    end = duration_h if simulated_h is None else simulated_h
    manifest = {
        "status": status, "seed": 1, "warm_up_s": warm_up_h * HOUR, "duration_s": duration_h * HOUR,
        "simulated_s": end * HOUR,
        "scenario": {"name": "small", "grid": {"queues": queues, "sites": sites} | (grid or {}),
                     "record": {"jobs": 1.0}},
        "share_tree": TREE, "vocabularies": VOCABULARIES, "counters": {"total_cores": 100}, "timings": {},
        "versions": {}, "gdpconfig": {}}
    write_manifest(folder, manifest)
    with RunWriter(folder, VOCABULARIES) as writer:
        if jobs:
            writer.write("jobs", *job_rows(jobs))
        for name, rows in tables.items():
            writer.write(name, *(rows if isinstance(rows, tuple) else (rows,)))
    return read_run(folder)
