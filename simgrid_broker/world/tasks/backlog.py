"""Backlog: the work that live tasks hold back on the hour, and what keeps it from becoming jobs."""

from collections.abc import Mapping

import numpy as np

from simgrid_broker.names import CORES_OF_ANY, TaskStatus
from simgrid_broker.schema import Column, Table
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.tasks.input_files import find_staged

BACKLOG = Table("backlog", "the work without jobs of the tasks of one share, resource type, status and reason on an "
                "hour", (
    Column("time_s", "f8", "s", "simulator", "When the tasks were counted"),
    Column("share", "i2", "", "JEDI_Tasks gshare", "Leaf share, also of a task that waits for its parent",
           codes="shares"),
    Column("resource_type", "i2", "", "JEDI_Tasks resource_type", "Resource type; null = not known yet",
           codes="resource_types"),
    Column("status", "i2", "", "JEDI_Tasks status", "Status", codes="task_status"),
    Column("errordialog", "i2", "", "JEDI_Tasks errorDialog", "Rule that left no candidate, of a task that waits for a "
           "nucleus or a queue; what scouts stopped an exhausted one for", codes="reasons"),
    Column("throttled_by", "i1", "", "lifecycle reference, 2.10", "Why a throttled task is throttled",
           codes="throttled_by"),
    Column("tasks", "i8", "tasks", "JEDI_Tasks", "Tasks"),
    Column("jobs", "f8", "jobs", "JEDI_Datasets nFilesToBeUsed", "Jobs that all input without a job makes"),
    Column("ready_cores", "f8", "cores", "JEDI_Dataset_Contents", "Cores of the jobs that its input could make now"),
    Column("input_cores", "f8", "cores", "lifecycle reference, 7.5", "Cores of those whose input is still on tape"),
    Column("scouts_cores", "f8", "cores", "lifecycle reference, 2.7", "Cores of those that scouts hold back until they "
           "have been assessed"),
))

WITH_REASON = np.isin(np.arange(len(TaskStatus)), (TaskStatus.PENDING, TaskStatus.ASSIGNING, TaskStatus.EXHAUSTED))
KEY = ("time_s", "share", "resource_type", "status", "errordialog", "throttled_by")
PARTS = ("ready_cores", "input_cores", "scouts_cores")


def backlog(arrays: Arrays, rows: np.ndarray, now: float, shares: Mapping[int, int]) -> np.ndarray:
    """The work that the tasks in `rows` hold, (n,) of BACKLOG.

    shares: of the rows of tasks that have none yet. Jobs are counted from pieces of input: of a task whose jobs are cut
    from files as many as it has made of each so far, before the first one those of the smallest size.
    """
    tasks, status = arrays.tasks, arrays.tasks["status"][rows]
    found = BACKLOG.empty(len(rows))
    found["time_s"] = now
    for name in KEY[1:]:
        found[name] = tasks[name][rows]
    found["share"] = [share if share >= 0 else shares.get(row, share)
                      for row, share in zip(rows.tolist(), found["share"].tolist(), strict=True)]
    found["errordialog"] = np.where(WITH_REASON[status], found["errordialog"], -1)
    found["throttled_by"] = np.where(status == TaskStatus.THROTTLED, found["throttled_by"], -1)
    pieces = _pieces(arrays, rows)
    of_piece = _jobs_of_piece(arrays, rows)
    cores = np.where(tasks["corecount"][rows] > 0, tasks["corecount"][rows], CORES_OF_ANY) * of_piece
    found["tasks"], found["jobs"] = 1, sum(pieces) * of_piece
    for name, some in zip(PARTS, pieces, strict=True):
        found[name] = some * cores
    return BACKLOG.summed(found, KEY)


def _pieces(arrays: Arrays, rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Pieces of tasks without a job: those that are ready, on tape, and behind scouts, (n,) each."""
    n_jobs, used = (arrays.tasks[name][rows].astype(np.int64) for name in ("n_jobs", "next_chunk"))
    staged = np.empty(len(rows), np.int64)
    find_staged(arrays, rows, staged)
    scouts = arrays.scout_inputs[rows]
    usable = np.where(scouts > 0, np.minimum(scouts, n_jobs), n_jobs)
    again = arrays.ram_levels["waiting"][rows].sum(axis=1)
    return (again + np.maximum(staged - used, 0), np.maximum(usable - np.maximum(staged, used), 0),
            np.maximum(n_jobs - np.maximum(usable, used), 0))


def _jobs_of_piece(arrays: Arrays, rows: np.ndarray) -> np.ndarray:
    """Jobs for each piece of the input of tasks, (n,), at most 1."""
    used, split = arrays.tasks["next_chunk"][rows], arrays.splitting[rows]
    at_once = np.where(split["neventsperjob"] > 0, 1, np.maximum(split["nfilesperjob"], 1))
    made = np.minimum(arrays.tasks["n_attempts"][rows], used) / np.maximum(used, 1)
    return np.where(split["n_files"] == 0, 1.0, np.where(used > 0, made, 1 / at_once))
