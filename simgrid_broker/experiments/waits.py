"""Waits of recorded jobs: slots that a queue had for them, and their distribution as predicted and as recorded.

A queue serves its jobs in the order of their creation: a job starts when the chain of agents and its worker's time in
the batch system are over and its cores are free. That is what a queue of one share does in a run; shares and priorities
are not in it.
"""

import heapq
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from simgrid_broker.experiments.calibration_jobs import AFTER, BEFORE, CLEARLY, PREDICTORS, WHEN
from simgrid_broker.experiments.intervals import UNKNOWN, Estimate, spread
from simgrid_broker.luck import key_of, normal_quantile, uniforms
from simgrid_broker.units import HOUR, MINUTE

FEWEST = 10
"""Jobs of a part whose waits are compared, and jobs that must have waited at a queue to show its slots."""
OF_WAITS = ("dimension", "name", "when", "jobs", "crps_h", "p50_h", "p95_h", "recorded_p50_h", "recorded_p95_h")
"""Columns of the errors of waits: crps_h, mean distance of the recorded waits from the predicted distribution less half
of the mean distance within it; quantiles of both."""
WIDEST = 1.645
"""Deviations of the logarithm of a batch latency beyond which a job has waited for a slot."""


class Batch(NamedTuple):
    """Batch system of a queue: median latency, s; spread of its logarithm; cores, NaN = as many as are asked for."""

    latency_s: float
    spread: float
    cores: float


def slots_of(jobs: pd.DataFrame, chain_s: float, batch: Batch) -> Estimate:
    """Cores in use at a queue while jobs waited for a slot: the median at the starts of those that waited."""
    ran = jobs[jobs["start_s"].notna() & jobs["run_s"].notna()]
    start, cores = ran["start_s"].to_numpy(float), ran["cores"].to_numpy(float)
    end = start + ran["run_s"].to_numpy(float)
    waited = (ran["wait_s"] > 2 * chain_s + batch.latency_s * np.exp(WIDEST * batch.spread)).to_numpy()
    if waited.sum() < FEWEST:
        return UNKNOWN._replace(n_values=int(waited.sum()))
    by_start, by_end = np.argsort(start, kind="stable"), np.argsort(end, kind="stable")
    begun, ended = (np.concatenate([[0], np.cumsum(cores[order])]) for order in (by_start, by_end))
    at = start[waited]
    in_use = begun[np.searchsorted(start[by_start], at, "right")] - ended[np.searchsorted(end[by_end], at, "right")]
    return Estimate(float(max(np.median(in_use), cores.max())), 1.2533 * spread(in_use) / np.sqrt(len(in_use)),
                    len(in_use))


def predicted_waits(jobs: pd.DataFrame, chain_s: float, batch: Batch) -> np.ndarray:
    """Waits of the jobs of one queue, served in the order of their creation for their recorded wall times, s.

    Jobs of which the creation is unknown wait for no slot.
    """
    luck = normal_quantile(uniforms(0, "batch_latency", numbers_of(jobs)))
    submit, waits = jobs["submit_s"].to_numpy(float), chain_s + batch.latency_s * np.exp(batch.spread * luck)
    if not np.isfinite(batch.cores) or np.isnan(submit).any():
        return waits
    ready, running, free, now = submit + waits, list[tuple[float, float]](), batch.cores, -np.inf
    cores, wall = np.minimum(jobs["cores"].to_numpy(float), batch.cores), jobs["run_s"].fillna(0.0).to_numpy(float)
    for row in np.argsort(ready, kind="stable"):
        now = max(now, ready[row])
        while running and (running[0][0] <= now or free < cores[row]):
            end, n = heapq.heappop(running)
            now, free = max(now, end), free + n
        free -= cores[row]
        heapq.heappush(running, (now + wall[row], cores[row]))
        waits[row] = now - submit[row]
    return waits


def numbers_of(jobs: pd.DataFrame) -> np.ndarray:
    """A number of each job that keys its random draws, (n_jobs,) int64: its PandaID, or that of its name."""
    numbers = pd.to_numeric(jobs["pandaid"], errors="coerce")
    if numbers.notna().all():
        return numbers.to_numpy(np.int64)
    return np.array([key_of(name) for name in jobs["pandaid"]], np.int64)


def drawn_waits(jobs: pd.DataFrame) -> dict[str, np.ndarray]:
    """By predictor the wait of an earlier job of the same task, group or group and site, drawn for each job, s.

    A job without an earlier one gets what the next wider kind gives.
    """
    earlier, u = (~jobs["held_out"] & jobs["wait_s"].notna()).to_numpy(), uniforms(0, "time_left", numbers_of(jobs))
    wider, found = _drawn(np.zeros(len(jobs), int), jobs["wait_s"].to_numpy(float), earlier, u), {}
    for name, by in PREDICTORS.items():
        one = _drawn(jobs.groupby(by, sort=False).ngroup().to_numpy(), jobs["wait_s"].to_numpy(float), earlier, u)
        wider = found[f"{name} median"] = np.where(np.isnan(one), wider, one)
    return found


def _drawn(groups: np.ndarray, waits: np.ndarray, earlier: np.ndarray, u: np.ndarray) -> np.ndarray:
    """A wait of an earlier job of the group of each job, NaN without one."""
    rows = np.flatnonzero(earlier)
    rows = rows[np.argsort(groups[rows], kind="stable")]
    if not len(rows):
        return np.full(len(groups), np.nan)
    first, end = (np.searchsorted(groups[rows], groups, side) for side in ("left", "right"))
    place = np.minimum(first + (u * (end - first)).astype(int), len(rows) - 1)
    return np.where(end > first, waits[rows[place]], np.nan)


def errors_of_waits(jobs: pd.DataFrame) -> pd.DataFrame:
    """Errors of the distribution of waits of held-out jobs (of all, if none were): OF_WAITS; empty without waits.

    jobs: with a column wait_<when>_s for each of WHEN.
    """
    chosen = jobs[jobs["wait_s"].notna() & (jobs["held_out"] | ~jobs["held_out"].any())]
    parts = [("all", "all", chosen), *((by, str(name), part) for by in ("computingsite", "task")
                                       for name, part in chosen.groupby(by, sort=False))]
    rows = [row for by, name, part in parts if len(part) >= FEWEST
            for row in _errors(by.replace("computingsite", "queue"), name, part)]
    return pd.DataFrame(rows, columns=list(OF_WAITS))


def _errors(by: str, name: str, part: pd.DataFrame) -> Iterator[tuple]:
    recorded = part["wait_s"].to_numpy(float) / HOUR
    for when in WHEN:
        sample = part[f"wait_{when}_s"].dropna().to_numpy(float) / HOUR
        if len(sample):
            yield (by, name, when, len(part), crps(sample, recorded), *np.quantile(sample, (0.5, 0.95)),
                   *np.quantile(recorded, (0.5, 0.95)))


def crps(sample: np.ndarray, values: np.ndarray) -> float:
    """Continuous ranked probability score of a sample of a distribution, mean over the values; in their unit.

    Source: Gneiting and Raftery, J. Am. Stat. Assoc. 102 (2007) 359, equation 21.
    """
    ordered, n = np.sort(sample), len(sample)
    sums, below = np.concatenate([[0.0], np.cumsum(ordered)]), np.searchsorted(ordered, values)
    distance = (values * below - sums[below] + sums[-1] - sums[below] - values * (n - below)) / n
    within = 2 * ((2 * np.arange(1, n + 1) - n - 1) * ordered).sum() / n**2
    return float(distance.mean() - within / 2)


def sentences(errors: pd.DataFrame) -> Iterator[str]:
    """Sentences on how the waits of held-out jobs are predicted."""
    whole = errors[errors.dimension == "all"].set_index("when")
    if not len(whole):
        yield ("The records have no waits (start less creation) of held-out jobs, so waiting is not judged and batch "
               "latency and slots stay as they were.")
        return
    before, after = whole.loc[BEFORE], whole.loc[AFTER]
    yield (f"Waits of held-out jobs: recorded median {after.recorded_p50_h:.2f} h and 95 % {after.recorded_p95_h:.2f} "
           f"h; predicted {after.p50_h:.2f} and {after.p95_h:.2f} h after the fit (CRPS {after.crps_h:.3f} h), "
           f"{before.p50_h:.2f} and {before.p95_h:.2f} h before it ({before.crps_h:.3f} h)."
           + (" The fit has made them worse." if after.crps_h > before.crps_h * CLEARLY else ""))
    others = whole.crps_h.drop([BEFORE, AFTER])
    if len(others) and others.min() * CLEARLY < after.crps_h - MINUTE / HOUR:
        best = others.idxmin().removesuffix(" median")
        queues = errors[errors.dimension == "queue"].pivot(index="name", columns="when", values="crps_h")
        lost = (queues[AFTER] - queues[others.idxmin()]).sort_values(ascending=False)
        where = ", ".join(f"{name} ({lost[name]:.2f} h)" for name in lost.index[:3] if lost[name] > 0)
        yield (f"Waits of earlier jobs of the same {best} predict them better (CRPS {others.min():.3f} h)"
               + (f"; most at {where}" if where else "") + ". The fit serves each queue in order of creation, without "
               "shares, priorities or other load.")
