"""What the brokers decided, as rows for the recorder.

What lives here: collecting decisions and refusals between two samples. What does not: deciding.
"""

import numpy as np

from simgrid_broker import luck
from simgrid_broker.names import DecisionKind
from simgrid_broker.policy import job_brokerage, task_brokerage
from simgrid_broker.schema import DECISIONS, REFUSALS
from simgrid_broker.views import KEPT
from simgrid_broker.world.counts import tally


def all_tags(edition: str) -> tuple[str, ...]:
    """Every tag for which a broker of an edition can refuse a candidate, each once."""
    jobs, tasks = job_brokerage.editions.PRODUCTION[edition], task_brokerage.editions.PRODUCTION[edition]
    preassigned = task_brokerage.editions.PREASSIGNED
    return tuple(dict.fromkeys((*jobs.tags, *tasks.funnel.tags, *preassigned.funnel.tags)))


class DecisionLog:
    """Decisions of the tasks that are recorded, and counts of all refusals by candidate, rule and share."""

    def __init__(self, world, fraction: float, seed: int):
        self.world, self.fraction, self.seed = world, fraction, seed
        self.rows: list[tuple] = []
        self.n_decisions = 0
        self.refusals: dict[tuple[int, int], tuple[tuple[str, ...], np.ndarray]] = {}

    def add(self, kind: DecisionKind, now: float, task, verdict, n_jobs: int, offset: int = 0,
            candidates: np.ndarray | None = None) -> None:
        """Note one decision; `candidates` are the sites that the verdict is about (default: it is about queues)."""
        self.n_decisions += 1
        self._count(kind, task.share, verdict, candidates)
        if self.fraction < 1 and luck.uniforms(self.seed, "decision_record", task.jeditaskid) >= self.fraction:
            return
        best, weight = -1, np.nan
        if len(verdict.order):
            first = int(verdict.order[0])
            best = offset + (first if candidates is None else int(candidates[first]))
            weight = float(verdict.weight[first])
        self.rows.append((now, self.n_decisions, kind, task.jeditaskid, task.share, task.resource_type,
                          len(verdict.refused_by), len(verdict.order), n_jobs, best, weight))

    def _count(self, kind: DecisionKind, share: int, verdict, sites: np.ndarray | None) -> None:
        """Count who was refused by which rule; the last row takes those that were kept, or are no candidates."""
        refused_by = verdict.refused_by
        if sites is not None:
            refused_by = np.full(len(self.world.arrays.sites), KEPT)
            refused_by[sites] = verdict.refused_by
        found = self.refusals.get((kind, share))
        if found is None:
            found = (verdict.tags, np.zeros((len(verdict.tags) + 1, len(refused_by)), np.int64))
            self.refusals[kind, share] = found
        tally(found[1], refused_by)

    def flush(self, now: float, of_pseudo_queue: np.ndarray, tag_codes: dict[str, int], write):
        """Write what has come since the last time; counts of pseudo-queues are added up to their PanDA queue."""
        if self.rows:
            write("decisions", np.array(self.rows, DECISIONS.dtype))
        n_queues = len(self.world.arrays.queues)
        for (kind, share), (tags, counts) in self.refusals.items():
            candidate = of_pseudo_queue if kind == DecisionKind.JOB_BROKERAGE else (
                n_queues + np.arange(counts.shape[1]))
            sums = np.zeros((len(tags), n_queues + len(self.world.arrays.sites)), np.int64)
            np.add.at(sums.T, candidate, counts[:-1].T)
            rule, where = np.nonzero(sums)
            rows = REFUSALS.empty(len(rule))
            rows["time_s"], rows["kind"], rows["share"] = now, kind, share
            rows["candidate"], rows["count"] = where, sums[rule, where]
            rows["tag"] = np.array([tag_codes[tag] for tag in tags])[rule]
            if len(rows):
                write("refusals", rows)
        self.rows.clear()
        self.refusals.clear()
