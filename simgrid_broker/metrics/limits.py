"""Reasons why shares are below their targets: work, slots of its types, workers that are not asked for or submitted.

Pilot streaming asks for workers of each resource type in the order of the shares (lifecycle reference, 5.3), and
Harvester submits of them what its limits allow, which count workers, whatever their cores (5.4).
"""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.shares import SEEN, Tree, limited_by, running_samples, share_compliance
from simgrid_broker.metrics.tasks import FINAL
from simgrid_broker.metrics.window import once_per_run, wide, window_of
from simgrid_broker.records import Run
from simgrid_broker.systems.dispatch import dispatcher
from simgrid_broker.systems.worker_mode import mode_of

ENOUGH = 0.9
"""Part of its target that a share can reach and is not called limited."""
MOSTLY = 0.5
"""Part of the running cores at queues with pilot streaming from which its workers limit a share."""


def share_limits(run: Run) -> list[str]:
    """Reason why each node of the share tree is below its target or cannot be judged; empty if there is none."""
    rows = wide(share_compliance(run))
    rows["unmade"] = has_unmade_work(run)
    rows[["unmet", "covered"]] = workers_of_types(run).to_numpy()
    return [limit_of(row) for row in rows.itertuples()]


def limit_of(row) -> str:
    """Reason for one node, a row of `share_compliance` with `unmade` and the figures of `workers_of_types`."""
    if not row.waiting and not row.delivered:
        return "no work"
    if row.demand_limited and not row.unmade:
        return "little work" if row.waiting >= SEEN else "seldom work"
    no_slots = limited_by(row) == "slots"
    if not row.demand_limited and not no_slots and row.delivered >= ENOUGH * min(row.target, row.due):
        return ""
    if row.unmet == row.unmet and row.waiting >= SEEN:
        covered = row.covered >= 100 * ENOUGH
        return "worker limit" if row.unmet >= SEEN else "workers wait" if covered else "not asked for"
    return "few jobs" if row.demand_limited else "no slots" if no_slots else "not served"


def has_unmade_work(run: Run) -> np.ndarray:
    """True for the nodes whose tasks have input without a job at the end of the run, (n_nodes,) bool."""
    samples, tasks = running_samples(run), run.table("tasks", ["share", "status", "n_jobs", "n_finished", "n_failed"])
    tasks = tasks[~tasks.status.isin(FINAL)]
    left = (tasks.n_jobs - tasks.n_finished - tasks.n_failed).groupby(tasks.share.astype(object)).sum()
    pieces = run.table("jobs", ["share", "n_chunks"]).astype({"share": object}).groupby("share").n_chunks.mean()
    tree = samples.tree
    alive = (samples.queued + samples.running)[-1] if len(samples.times) else np.zeros(len(tree.names))
    of_leaf = [left.get(name, 0) > alive[node] * max(pieces.get(name, 1), 1)
               for name, node in zip(tree.leaf_names, tree.leaves, strict=True)]
    return tree.below @ np.array(of_leaf, int) > 0


@once_per_run
def workers_of_types(run: Run) -> pd.DataFrame:
    """Workers of the types of the waiting jobs of each node, two figures, %, (n_nodes,) each.

    unmet: those asked for and not submitted, of these and the submitted ones (one that is asked for at several samples
    counts at each); covered: those that wait in the batch systems, of the activated jobs. NaN where pilot streaming
    does not serve most of the running cores, or no jobs of the node wait.
    """
    samples, queues = running_samples(run), streaming_queues(run)
    rows = run.table("queues", ["time_s", "queue", "running_cores"])
    cores = rows[window_of(run).holds(rows.time_s)].astype({"queue": object}).groupby("queue").running_cores.sum()
    if not cores.sum() or cores[cores.index.isin(queues)].sum() < MOSTLY * cores.sum():
        return pd.DataFrame({"unmet": np.nan, "covered": np.nan}, range(len(samples.tree.names)))
    workers = run.table("workers", ["time_s", "queue", "resource_type", "asked", "waiting", "submitted"])
    workers = workers[workers.queue.isin(queues) & window_of(run).holds(workers.time_s)]
    workers = workers.groupby(workers.resource_type.astype(object))[["asked", "waiting", "submitted"]].sum()
    jobs = run.table("shares", ["time_s", "share", "resource_type", "activated"])
    jobs = jobs[window_of(run).holds(jobs.time_s)].astype({"share": object, "resource_type": object})
    of_type = jobs.groupby("resource_type").activated.sum().reindex(workers.index, fill_value=0)
    unmet = 100 * workers.asked / (workers.asked + workers.submitted).clip(lower=1)
    return pd.DataFrame({name: _of_nodes(samples.tree, jobs, figures) for name, figures in (
        ("unmet", unmet), ("covered", 100 * workers.waiting / of_type.clip(lower=1)))})


def _of_nodes(tree: Tree, jobs: pd.DataFrame, of_types: pd.Series) -> np.ndarray:
    """Mean of figures of resource types by node of the tree, (n_nodes,), weighted by activated jobs."""
    figure = (jobs.activated * jobs.resource_type.map(of_types).fillna(0)).groupby(jobs.share).sum()
    sums = pd.DataFrame({"figure": figure, "number": jobs.groupby("share").activated.sum()}).reindex(
        tree.leaf_names, fill_value=0)
    total, number = (tree.below @ sums[name].to_numpy(float) for name in ("figure", "number"))
    return np.divide(total, number, out=np.full(len(number), np.nan), where=number > 0)


def streaming_queues(run: Run) -> tuple[str, ...]:
    """Unified queues that pilot streaming serves."""
    plan = run.manifest["scenario"]
    if not dispatcher(plan.get("dispatch", "panda")).binds_jobs:
        return ()
    return tuple(name for name, queue in plan["grid"]["queues"].items()
                 if queue["capability"] == "ucore" and mode_of(queue["workflow"]).asked_by_server)
