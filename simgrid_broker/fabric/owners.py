"""The priority massage in the data plane: counts of jobs by owner, and higher priorities."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.activated import put_activated, take_out
from simgrid_broker.names import JobStatus
from simgrid_broker.world.rows import is_merge_job

S = JobStatus
ACTIVATED, SENT, STARTING, RUNNING = map(int, (S.ACTIVATED, S.SENT, S.STARTING, S.RUNNING))
HOLDING, PENDING, DEFINED, ASSIGNED = map(int, (S.HOLDING, S.PENDING, S.DEFINED, S.ASSIGNED))


@compiled
def lift(world, rows, points):
    """Raise the priority of activated jobs and move them in their heaps."""
    for row in rows:
        take_out(world, row)
        world.jobs[row]["priority"] += points
        put_activated(world, row)


@compiled
def look_at_owners(world, owner_of_task, since, jobs, cores, done, activated, highest):
    """Count the live jobs of tasks whose owner is not -1, by owner.

    owner_of_task: (n_tasks,); jobs, cores: running, starting and sent, (n_owners,); done, activated, highest:
    (n_owners, n_queues), of jobs with a change or heartbeat after `since`, s: number of jobs of the active table that
    are neither activated nor holding, number of activated jobs, and highest priority of these.
    """
    for row in range(len(world.jobs)):
        job = world.jobs[row]
        if job["panda_id"] == 0 or owner_of_task[job["task"]] < 0 or is_merge_job(job):
            continue
        owner, queue, status = owner_of_task[job["task"]], job["queue"], job["status"]
        if status == RUNNING or status == STARTING or status == SENT:
            jobs[owner] += 1
            cores[owner] += job["corecount"]
        alive = status == RUNNING and job["due_sequence"] != 0
        if not alive and job["modification_s"] < since:
            continue
        if status == ACTIVATED:
            activated[owner, queue] += 1
            highest[owner, queue] = max(highest[owner, queue], np.int64(job["priority"]))
        elif not (status == HOLDING or status == PENDING or status == DEFINED or status == ASSIGNED):
            done[owner, queue] += 1
