"""The summary of a run, running cores and workers, jobs by status, trends, and differences between two runs.

A trend says if the warm-up was long enough; whether a difference is significant takes replications.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pandas as pd

from simgrid_broker.errors import wrong_type
from simgrid_broker.metrics.attempts import attempts, failures, rebrokerage, rule_losses
from simgrid_broker.metrics.refusals import refusals, with_labels
from simgrid_broker.metrics.replay import submission_waits
from simgrid_broker.metrics.shares import ShareSamples, running_samples, share_compliance, share_deviation, share_tree
from simgrid_broker.metrics.tasks import task_turnaround, time_in_phase
from simgrid_broker.metrics.traffic import data_waits, door_use, link_use, staging_summary, storage_use
from simgrid_broker.metrics.waiting import waiting_times
from simgrid_broker.metrics.window import (
    Pass,
    Window,
    combinations,
    end_times,
    ended_in,
    made_of_jobs,
    once_per_run,
    part_of_jobs,
    sums,
    texts,
    tidy,
    wide,
    window_of,
)
from simgrid_broker.names import JobStatus
from simgrid_broker.records import JOB_END_TIMES, JOB_END_WORDS, Run
from simgrid_broker.units import DAY, HOUR, MINUTE

STATES = ("running", "transferring", "activated", "assigned", "other queued")
"""States that `jobs_over_time` counts; other queued are defined and starting jobs."""

BINS_S = (MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 7 * DAY)
"""Round widths of time bins, s."""
FIGURES = {"submitted": "workers", "missed": "workers", "cancelled": "workers", "started": "workers",
           "empty": "workers", "used_core_h": "core h", "idle_core_h": "core h", "wasted_core_h": "core h"}
"""Sums of the table `workers` with their units."""
EVERY = "every type"
"""Resource type of the workers of a queue that is not unified."""


def running_cores(run: Run, by: str = "share") -> pd.DataFrame:
    """Cores of running jobs over time by share, resource_type, site or queue; dimensions time_s and `by`.

    Raises ValueError for anything else to group by.
    """
    if by in ("share", "resource_type"):
        rows = run.table("shares", ["time_s", by, "running_cores"])
    elif by in ("site", "queue"):
        rows = run.table("queues", ["time_s", "queue", "running_cores"])
        if by == "site":
            queues = run.manifest["scenario"]["grid"]["queues"]
            rows["site"] = rows.queue.astype(object).map({name: queue["atlas_site"] for name, queue in queues.items()})
    else:
        raise ValueError(f"cores can be grouped by share, resource_type, site or queue, not {by!r}")
    rows[by] = rows[by].astype(object)
    group, first = combinations(rows, ["time_s", by])
    table = rows[["time_s", by]].take(first).assign(running_cores=np.bincount(group, rows.running_cores))
    return tidy(table, ["time_s", by], {"running_cores": "cores"}, Window(0.0, run.end_s))


def totals_over_time(run: Run, *columns: str) -> pd.DataFrame:
    """Columns of the samples of shares, such as activated (jobs), summed over the grid; indexed by time_s."""
    return sums(run.table("shares", ["time_s", *columns]), ["time_s"], *columns).set_index("time_s")


def jobs_over_time(run: Run) -> pd.DataFrame:
    """Jobs of the whole grid by state over time; dimensions time_s and state (STATES)."""
    table = totals_over_time(run, "running", "transferring", "activated", "assigned", "queued")
    table["other queued"] = table.queued - table.activated - table.assigned
    long = pd.DataFrame({"time_s": np.tile(table.index, len(STATES)), "state": np.repeat(STATES, len(table)),
                         "jobs": np.concatenate([table[state] for state in STATES])})
    return tidy(long, ["time_s", "state"], {"jobs": "jobs"}, Window(0.0, run.end_s))


def throughput(run: Run, most_bins: int = 100) -> pd.DataFrame:
    """Jobs that ended per hour by final status over time; dimensions time_s (start of the bin), bin_s and status."""
    end = run.end_s
    sampled = part_of_jobs(run) < 1
    width = next((width for width in BINS_S if end / width <= most_bins and (width >= HOUR or not sampled)), BINS_S[-1])
    edges = np.arange(0, max(end, width) + width, width)[:-1]
    last = min(edges[-1] + width, max(end, width))                     # the end of the run may cut the last bin
    lengths = np.diff([*edges, last])
    counts = np.zeros((len(JOB_END_WORDS), len(edges)))
    if sampled:
        counts += [np.histogram(rows.time_s, [*edges, last], weights=rows.jobs)[0]
                   for rows in (run.ended[run.ended.status == status] for status in JOB_END_WORDS)]
    for rows in () if sampled else run.batches("jobs", JOB_END_TIMES):
        counts += [np.histogram(rows[column].dropna(), [*edges, last])[0] for column in JOB_END_TIMES]
    table = pd.DataFrame({"time_s": np.tile(edges, len(JOB_END_WORDS)), "bin_s": np.tile(lengths, len(JOB_END_WORDS)),
                          "status": np.repeat(JOB_END_WORDS, len(edges)),
                          "jobs_per_hour": (counts / lengths * HOUR).ravel()})
    return tidy(table, ["time_s", "bin_s", "status"], {"jobs_per_hour": "jobs/h"}, Window(0.0, end))


def core_capacity(run: Run) -> float:
    """Cores of all batch systems, as the manifest counts them."""
    return float(run.manifest["counters"]["total_cores"])


@once_per_run
def workers(run: Run) -> pd.DataFrame:
    """Workers by queue and resource type in the window: numbers, and core hours used, idle and wasted.

    Idle: in slots of workers without a payload; wasted: cores of a slot, or of a whole node, beside its payload.
    """
    window = window_of(run)
    rows = run.workers[window.holds(run.workers.time_s)]
    kinds = rows.resource_type.astype(object).where(rows.resource_type.notna(), EVERY)
    rows = rows.assign(queue=rows.queue.astype(object), resource_type=kinds)
    group, first = combinations(rows, ["queue", "resource_type"])
    table = rows[["queue", "resource_type"]].take(first).assign(**{name: np.bincount(group, rows[name])
                                                                   for name in FIGURES})
    return tidy(table, ["queue", "resource_type"], FIGURES, window)


ALIVE = tuple(status.word for status in JobStatus if status.word not in JOB_END_WORDS)
"""Statuses of jobs that have not ended, in PanDA's order."""
BATCHES = 12
TREND = 0.576
"""Kendall's tau of 12 batch means that is exceeded by chance in 1 % of stationary series; source: Kendall, Rank
Correlation Methods, table of the distribution of S (S = 38 of 66 pairs)."""
CHANGE = 0.1
"""Relative change from the first to the last third of the window above which a trend matters."""
SHARE_CHANGE = 1.0
"""Change of delivered power above which a trend matters, % points of all power."""


def _numbers_by_status(rows: pd.DataFrame, window: Window) -> dict[str, int]:
    """Numbers of the jobs of a batch that ended in the window, or are alive, by status."""
    status, words = rows.status.array, rows.status.array.categories
    chosen = window.holds(end_times(rows)) | ~words.isin(JOB_END_WORDS)[status.codes]
    return dict(zip(words, np.bincount(status.codes[chosen], minlength=len(words)).tolist(), strict=True))


STATUSES = Pass(("status", *JOB_END_TIMES), _numbers_by_status)
"""The pass of `jobs_by_status`."""


@once_per_run
def jobs_by_status(run: Run) -> pd.DataFrame:
    """Jobs that ended in the window by final status, then jobs alive at the end by status; dimensions status, state.

    state: ended or alive. A killed run has no rows of jobs that were alive; if jobs are a sample, the numbers of those
    alive are scaled up.
    """
    window, part = window_of(run), part_of_jobs(run)
    counts = Counter[str]()
    for numbers in made_of_jobs(run, STATUSES):
        counts.update(numbers)
    if part < 1:
        all_ended = sums(ended_in(run, window), ["status"], "jobs").set_index("status").jobs.to_dict()
        counts = Counter({status: round(n / part) for status, n in counts.items()}
                         | {status: all_ended.get(status, 0) for status in JOB_END_WORDS})
    table = pd.DataFrame([(status, "ended", counts[status]) for status in JOB_END_WORDS]
                         + [(status, "alive", counts[status]) for status in ALIVE if counts[status]],
                         columns=["status", "state", "jobs"])
    return tidy(table, ["status", "state"], {"jobs": "jobs"}, window)


@once_per_run
def summary(run: Run) -> pd.DataFrame:
    """Summary of a run, without dimensions: jobs, cores, losses, waiting and shares; NaN where undefined.

    Metrics: finished, failed, closed, cancelled, alive (jobs); failure_rate (% of finished and failed); ended_per_hour;
    running_cores (mean), capacity (cores), core_occupancy (%); hs06 (mean power in use); lost_core_hours (core h); the
    metrics of `waiting_times`, of `submission_waits` if there is a trace, and of `share_deviation`.
    """
    window = window_of(run)
    counts = wide(jobs_by_status(run), "jobs")
    by_status = dict(zip(counts.status, counts.jobs, strict=True))
    jobs = {status: by_status[status] for status in JOB_END_WORDS}
    jobs["alive"] = counts.jobs[counts.state == "alive"].sum()
    tried = jobs["finished"] + jobs["failed"]
    ended = sum(jobs[status] for status in JOB_END_WORDS)
    cores, capacity = _power(run, window), core_capacity(run)
    lost = failures(run)
    lost_core_hours = lost.value[lost.metric == "lost_core_hours"].sum()
    table = pd.DataFrame([jobs | cores | {
        "failure_rate": 100 * jobs["failed"] / tried if tried else np.nan,
        "ended_per_hour": ended / window.length_s * HOUR if window.length_s else np.nan,
        "capacity": capacity, "core_occupancy": 100 * cores["running_cores"] / capacity if capacity else np.nan,
        "lost_core_hours": lost_core_hours}])
    units = dict.fromkeys(jobs, "jobs") | {
        "failure_rate": "%", "ended_per_hour": "jobs/h", "running_cores": "cores", "capacity": "cores",
        "core_occupancy": "%", "hs06": "HS06", "lost_core_hours": "core h"}
    return pd.concat([tidy(table, [], units, window), waiting_times(run, None), submission_waits(run, None),
                      share_deviation(run)], ignore_index=True)


def _power(run: Run, window: Window) -> dict[str, float]:
    totals = totals_over_time(run, "running_cores", "hs06")
    totals = totals[window.holds(totals.index)]
    return {name: totals[name].mean() if len(totals) else np.nan for name in ("running_cores", "hs06")}


@once_per_run
def drift(run: Run) -> pd.DataFrame:
    """Trends of activated jobs, running cores and delivered power of leaf shares over the window.

    Dimensions series (activated, running_cores or delivered) and share ("" = all). Metrics: first and last, means of
    the first and last third of the window (jobs, cores or % of all power); trend: Kendall's tau of the means of 12
    batches; drifts: 1 if the trend is significant at 1 % and the change exceeds 10 % of the mean and, for delivered
    power, 1 % point. Empty with less than 2 samples for each batch.
    """
    samples = running_samples(run)
    units = {"first": "", "last": "", "trend": "", "drifts": ""}
    rows = list(_rows(samples)) if len(samples.times) >= 2 * BATCHES else []
    return tidy(pd.DataFrame(rows, columns=["series", "share", *units]), ["series", "share"], units, window_of(run))


def drifting(run: Run) -> pd.DataFrame:
    """The series of `drift` that drift, largest relative change first; one row each, wide."""
    rows = wide(drift(run))
    rows = rows[rows.drifts > 0]
    change = (rows["last"] - rows["first"]).abs() / (rows["last"] + rows["first"])
    return rows.assign(change=change).sort_values("change", ascending=False, kind="stable").drop(columns="change")


def _rows(samples: ShareSamples) -> Iterator[tuple]:
    for name in ("activated", "running_cores"):
        yield name, "", *_trend(getattr(samples, name)[:, 0], 0.0)
    delivered = samples.percent("hs06")
    for leaf, name in zip(samples.tree.leaves, samples.tree.leaf_names, strict=True):
        yield "delivered", name, *_trend(delivered[:, leaf], SHARE_CHANGE)


def _trend(values: np.ndarray, least: float) -> tuple[float, float, float, bool]:
    """Means of the first and last third, Kendall's tau of the batch means, and whether the series drifts."""
    means = np.array([batch.mean() for batch in np.array_split(values, BATCHES)])
    first, last = means[:BATCHES // 3].mean(), means[-BATCHES // 3:].mean()
    signs = np.sign(means[None, :] - means[:, None])[np.triu_indices(BATCHES, 1)]
    changed = abs(last - first) > max(CHANGE * abs(values.mean()), least)
    return first, last, signs.mean(), changed and abs(signs.mean()) >= TREND


def throttled_hours(run: Run) -> pd.DataFrame:
    """Hours of the window in which the throttler made no jobs of a leaf share; dimension share; metric throttled, h.

    An hour counts by the part of the cycles of job generation that skipped the share or a resource type of it. Empty
    for a run without records of the throttler.
    """
    if "throttler" not in run.tables:
        return tidy(pd.DataFrame(columns=["share", "throttled"]), ["share"], {"throttled": "h"}, window_of(run))
    window = window_of(run)
    rows = run.table("throttler", ["time_s", "work_queue", "skip", "cycles"])
    rows = texts(rows[window.holds(rows.time_s)], "work_queue")
    cycles = rows.assign(skipped=rows.cycles * rows.skip).groupby(["work_queue", "time_s"])[["cycles", "skipped"]].sum()
    hours = (cycles.skipped / cycles.cycles).groupby("work_queue").sum()
    table = hours.reindex(share_tree(run).leaf_names, fill_value=0.0).rename_axis("share").rename("throttled")
    return tidy(table.reset_index(), ["share"], {"throttled": "h"}, window)


def difference(base: pd.DataFrame, changed: pd.DataFrame) -> pd.DataFrame:
    """Row-wise difference of two tidy tables of the same figure: base, changed, difference, and relative, % of base.

    Rows are matched by dimensions, metric and unit; a row that only one table has is NaN on the other side.
    """
    for table in (base, changed):
        if not isinstance(table, pd.DataFrame):
            raise wrong_type("difference", "two tables of the same figure, as of metrics.summary", table)
    keys = [name for name in base.columns if name not in ("value", "window")]
    both = base.drop(columns="window").rename(columns={"value": "base"}).merge(
        changed.drop(columns="window").rename(columns={"value": "changed"}), on=keys, how="outer", sort=False)
    order = pd.concat([base[keys], changed[keys]]).drop_duplicates()
    both = order.merge(both, on=keys, how="left")
    both["difference"] = both.changed - both.base
    both["relative"] = 100 * both.difference / both.base.abs().where(both.base != 0)
    return both


def comparison(base: Run, changed: Run, steps: Callable[[Iterable], Iterable] = iter) -> dict[str, pd.DataFrame]:
    """Tables of differences between two runs, by name; steps: wraps the iterable of tables, to show progress."""
    # shares go by name: numbers of nodes may differ between two trees
    figures: dict[str, Callable[[Run], pd.DataFrame]] = {
        "summary": summary, "shares": lambda run: share_compliance(run).drop(columns=["node", "level"]),
        "waiting": waiting_times, "sites": mean_cores, "failures": failures, "refusals": _refusals_by_rule,
        "tasks": task_turnaround, "attempts": attempts, "rules": rule_losses, "moves": rebrokerage,
        "phases": time_in_phase, "data": data_waits, "links": link_use, "doors": door_use,
        "storages": storage_use, "staging": staging_summary}
    return {name: difference(figure(base), figure(changed)) for name, figure in steps(figures.items())}


def mean_cores(run: Run) -> pd.DataFrame:
    """Mean running cores of each site in the window; dimension site."""
    window = window_of(run)
    series = running_cores(run, "site")
    inside = series[window.holds(series.time_s)]
    return inside.groupby(["site", "metric", "unit"]).value.mean().reset_index().assign(window=str(window))


def _refusals_by_rule(run: Run) -> pd.DataFrame:
    """Refusals by broker and rule, all candidates together."""
    table = with_labels(run, refusals(run))
    return table.groupby(["kind", "rule", "metric", "unit", "window"]).value.sum().reset_index()
