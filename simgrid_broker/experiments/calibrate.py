"""`calibrate`: figures of queues and sites that recorded jobs agree with, and by how much they improve predictions."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from simgrid_broker.experiments.calibration_jobs import (
    AFTER,
    BEFORE,
    FINISHED,
    Batch,
    calibration_jobs,
    drawn_waits,
    errors_of,
    errors_of_others,
    errors_of_waits,
    numbers_of,
    predicted_waits,
    predictions,
    sentences,
    slots_of,
    verdicts,
    verdicts_on_others,
)
from simgrid_broker.experiments.intervals import UNKNOWN, Estimate, location, parts, spread
from simgrid_broker.experiments.job_model import Before, Fitted, JobModel, Observed, unfitted
from simgrid_broker.luck import key_of, keys
from simgrid_broker.scenario import Scenario, load_scenario
from simgrid_broker.schema.jobs import RecordColumns
from simgrid_broker.schema.queues import UNKNOWN_COREPOWER

FEWEST = 10
"""Jobs that an estimate needs; a queue or site with fewer keeps its values."""
MOST_JOBS = 60_000
"""Jobs that are fitted, drawn by their identifiers if there are more; all are predicted."""

OF_QUEUES = {"corepower": "HS06/core", "cpu_efficiency": "", "payload_overhead": "s", "batch_latency": "s",
             "batch_latency_spread": "", "cores": "cores"}
"""Keys of queues that are fitted, and their units."""

OF_PARAMETERS = ("noun", "name", "parameter", "before", "after", "error", "low", "high", "jobs", "tasks", "unit",
                 "state")
"""Columns of the table of parameters; low and high: the ends of a 95 % interval; error: half of it over 1.96."""

FITTED, TOO_FEW, UNSEEN = "fitted", "too few jobs", "not to be seen"
OF_OTHERS = {"site": "drawn to its site", "tier": "drawn to its tier"}
"""States of powers and factors of queues with few jobs, which are mostly or partly those of the others there."""
WRITTEN = {FITTED, *OF_OTHERS.values()}
"""States of values that the part of a scenario has."""
MOSTLY = 0.5
"""Part of others in the power of a queue from which that is said."""
MOST_SPENT = 2.0
"""CPU time over that of the cores from which it is remarked."""
CONFLICT = 0.1
"""Part by which the power of the records may differ from that of the scenario before it is remarked."""
SIGNIFICANT = 6
"""Digits of the written values."""


class Calibration(NamedTuple):
    """parameters: OF_PARAMETERS; errors: tidy, of the held-out jobs by when, dimension and name; part: of a scenario.

    waits: OF_WAITS, errors of the distributions of waits; others: those of CPU and stage-in times, in the column `of`.

    jobs: those of the records with their predicted wall times before and after, s; remarks: sentences; verdicts:
    sentences on what predicts the held-out jobs best; is_better: whether their errors fell by the fit.
    """

    parameters: pd.DataFrame
    errors: pd.DataFrame
    part: dict[str, Any]
    jobs: pd.DataFrame
    remarks: tuple[str, ...]
    verdicts: tuple[str, ...]
    is_better: bool
    waits: pd.DataFrame
    others: pd.DataFrame


def calibrate(scenario: Scenario | str | Path, records: str | Path, held_out: float = 0.2,
              columns: Mapping[str, str] | None = None) -> Calibration:
    """Fit queues and sites of a scenario to PanDA job records, and test the fit on the last jobs, which are held out.

    held_out: part of the jobs, 0 to below 1; columns: names in the file by PanDA's. Raises InputFileError for records
    that cannot be used.
    """
    loaded = scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
    given = RecordColumns(**columns) if columns else _columns_of(loaded)
    jobs, remarks = calibration_jobs(loaded, Path(records), given, held_out)
    fit = Fit(loaded, jobs)
    table = pd.DataFrame(list(fit.parameters()), columns=list(OF_PARAMETERS))
    fit.say_background(table)
    for when in (BEFORE, AFTER):
        wall, cpu = fit.predicted(when, table)
        jobs = jobs.assign(**{f"predicted_{when}_s": wall, f"cputime_{when}_s": cpu})
    jobs, others = predictions(jobs), errors_of_others(jobs, held_out)
    jobs = jobs.assign(**{f"wait_{when}_s": values for when, values in (
        *((when, fit.predicted_waits(when, table)) for when in (BEFORE, AFTER)), *drawn_waits(jobs).items())})
    errors, waits = errors_of(jobs, held_out), errors_of_waits(jobs)
    of_walltimes, is_better = verdicts(errors)
    return Calibration(table, errors, part_of(table), jobs, (*remarks, *fit.remarks),
                       (*of_walltimes, *verdicts_on_others(others), *sentences(waits)), is_better, waits, others)


def _columns_of(scenario: Scenario) -> RecordColumns:
    trace = scenario.workload.trace
    return trace.columns if trace is not None else RecordColumns()


class Fit:
    """Estimates from the jobs that are not held out."""

    def __init__(self, scenario: Scenario, jobs: pd.DataFrame):
        self.scenario, self.jobs, self.remarks = scenario, jobs, list[str]()
        (self.tasks, _), (self.groups, groups), (self.queues, names) = (
            pd.factorize(jobs[name]) for name in ("task", "group", "computingsite"))
        self.task_of = np.zeros(len(groups), int)
        self.task_of[self.groups] = self.tasks
        self.kind_of = np.zeros(self.tasks.max() + 1, int)
        self.kind_of[self.tasks] = pd.factorize(jobs["share"].str.cat(jobs["processingtype"], "/"))[0]
        self.names = list(names)
        work, events = jobs["work"], jobs["nevents"].where(jobs["nevents"] > 0)
        self.is_known = bool((work > 0).any())
        per_event = events.notna().groupby(self.tasks).transform("all")
        size = work.where(work > 0) if self.is_known else events.where(per_event, 1.0)
        self.log_size = np.log(size.to_numpy(float))
        rest = jobs["payload_s"].fillna(jobs["run_s"] - jobs["staging_s"])
        self.fitted = ((jobs["jobstatus"] == FINISHED) & ~jobs["held_out"] & (jobs["cpuconsumptiontime"] > 0)
                       & (rest > 0) & np.isfinite(self.log_size)).to_numpy()
        self.before = {name: [self._today(name, key) for key in OF_QUEUES] for name in self.names}
        self.counts = np.bincount(self.queues[self.fitted], minlength=len(self.names))
        self.begin = {name: values[:3] for name, values in self.before.items()}
        self._say_what_is_there(work)
        self._say_what_is_wrong(rest)
        sites = [scenario.grid.queues[name].atlas_site for name in self.names]
        self.places = {"site": np.array(sites), "tier": np.array([scenario.grid.sites[name].tier for name in sites])}
        self.figures = self._figures(rest.to_numpy(float))
        self.drawn = [self._drawn_to(number) for number in range(len(self.names))]
        self._say_drawn()

    def _say_what_is_there(self, work: pd.Series) -> None:
        """Remarks on what the columns cannot tell apart, and on powers of the records that contradict the scenario."""
        if not self.is_known:
            self.remarks.append("The records do not say how much work a job is, so the queues are compared by jobs of "
                                "the same tasks, and keep the mean power that the scenario gives them.")
        elif missing := int((work.isna() | (work <= 0)).sum()):
            self.remarks.append(f"{missing} jobs without work are not used.")
        recorded = self.jobs["corepower"].groupby(self.queues).median()
        for number, power in recorded.dropna().items():
            declared = self.before[self.names[int(number)]][0]
            if abs(np.log(power / declared)) > CONFLICT:
                self.remarks.append(f"{self.names[int(number)]}: the records give {power:.3g} HS06 per core by hs06 or "
                                    f"hs06sec, the scenario {declared:.3g}; the fit begins with that of the records.")
                self.begin[self.names[int(number)]][0] = float(power)

    def _say_what_is_wrong(self, rest_s: pd.Series) -> None:
        """Remarks on values that no finished job can have, and on times; rest_s: wall time less staging."""
        of, done = self.jobs, self.jobs["jobstatus"] == FINISHED
        spent = of["cpuconsumptiontime"] / (of["cores"] * of["run_s"])
        for wrong, text in ((~(spent > 0), "have no CPU time and are not fitted"),
                            (rest_s <= 0, "took no longer than their staging and are not fitted"),
                            (spent > MOST_SPENT, f"used more than {MOST_SPENT:g} times the CPU time that their cores "
                             "had: such values have little weight unless they are the rule")):
            if count := int((done & wrong).sum()):
                self.remarks.append(f"{count} finished jobs {text}.")
        if of["wait_s"].notna().any() and of["submit_s"].isna().all():
            self.remarks.append("The records have waits and no times of creation, so all of a wait counts as time in "
                                "the batch system, although the slots may have been short.")

    def _figures(self, rest_s: np.ndarray) -> Fitted:
        """Figures of the joint fit of the jobs."""
        chosen, jobs = np.flatnonzero(self.fitted), self.jobs
        if len(chosen) > MOST_JOBS:
            drawn = keys(key_of("/calibrated"), numbers_of(jobs.iloc[chosen]))
            chosen = np.sort(chosen[np.argsort(drawn, kind="stable")[:MOST_JOBS]])
            self.remarks.append(f"{MOST_JOBS:,} of {self.fitted.sum():,} jobs are fitted, drawn by their identifiers; "
                                "all are predicted.")
        today = Before(*np.array([self.begin[name] for name in self.names]).T,
                       *(np.unique(place, return_inverse=True)[1] for place in self.places.values()))
        if not len(chosen):
            return unfitted(today, self.task_of)
        if not self.is_known and (n_parts := parts(self.tasks[chosen], self.queues[chosen]).max() + 1) > 1:
            self.remarks.append(f"The queues fall into {n_parts} groups without a common task; powers can be compared "
                                "within a group only.")
        return JobModel(Observed(
            self.queues[chosen], self.tasks[chosen], self.groups[chosen], jobs["cores"].to_numpy(float)[chosen],
            jobs["cpuconsumptiontime"].to_numpy(float)[chosen], rest_s[chosen],
            jobs["payload_s"].notna().to_numpy()[chosen], self.log_size[chosen],
            np.full(len(chosen), self.is_known)), today, self.task_of, self.kind_of).fit()

    def _drawn_to(self, number: int) -> str:
        """Level to whose other queues the figures of a queue with few jobs are drawn; empty for one with many."""
        part = self.figures.drawn[number]
        if not part > 0 or self.counts[number] >= FEWEST and part < MOSTLY:
            return ""
        shown = (self.counts >= FEWEST) & (np.arange(len(self.names)) != number)
        return next((level for level, place in self.places.items() if (shown & (place == place[number])).any()), "")

    def _say_drawn(self) -> None:
        """Remark which queues with few jobs are drawn to others, how far and to which."""
        some = [f"{name} ({self.counts[number]} jobs, {100 * self.figures.drawn[number]:.0f} % of {level} "
                f"{self.places[level][number]})" for number, (name, level) in enumerate(
                    zip(self.names, self.drawn, strict=True)) if level]
        if some:
            self.remarks.append("Powers and factors of queues with few jobs are drawn to others of the site or tier: "
                                f"{', '.join(some[:5])}{f' and {len(some) - 5} more' if len(some) > 5 else ''}.")

    def parameters(self) -> Iterator[tuple]:
        """Rows of OF_PARAMETERS."""
        overhead = self._overheads()
        for number, name in enumerate(self.names):
            latency, width = self._latency(number)
            power, factor = (self._of_logarithm(values[number], widths[number], number) for values, widths in zip(
                self.figures[:2], self.figures.widths[:2], strict=True))
            here = self.jobs[(self.queues == number) & ~self.jobs["held_out"]]
            latency_s, spread = (before if np.isnan(one.value) else one.value for one, before in zip(
                (latency, width), self.before[name][3:5], strict=True))
            slots = slots_of(here, chain_s(self.scenario), Batch(latency_s, spread, np.nan))
            slots = slots._replace(value=np.round(slots.value))
            estimates = (power, factor, overhead[number], _symmetric(latency), _symmetric(width), _symmetric(slots))
            drawn = (OF_OTHERS.get(self.drawn[number], ""),) * 2
            for (key, unit), before, estimate, state in zip(
                    OF_QUEUES.items(), self.before[name], estimates, (*drawn, *[""] * 4), strict=True):
                state = state if state and np.isfinite(estimate[0].value) else _state(estimate[0])
                yield ("queue", name, key, before, *_chosen(before, estimate, state), int(self.figures.n_tasks[number]),
                       unit, state)
        for name, failures in self._failures():
            before = self.scenario.grid.sites[name].failure_rate
            tasks = self.jobs["task"][self.jobs["site"] == name].nunique()
            chosen = _chosen(before, _symmetric(failures), _state(failures))
            yield ("site", name, "failure_rate", before, *chosen, tasks, "", _state(failures))

    def predicted(self, when: str, table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Wall and CPU time of each job with the figures before or after, s, NaN = its work is unknown."""
        rows = table[table.noun == "queue"].pivot(index="name", columns="parameter", values=when).loc[self.names]
        power, factor, overhead = (rows[key].to_numpy(float)[self.queues] for key in list(OF_QUEUES)[:3])
        spent = np.minimum(self.figures.efficiency[self.tasks] * factor, 1.0)
        work = np.exp(self.log_size + self.figures.log_work[self.groups])
        cores = self.jobs["cores"].to_numpy(float)
        payload = self.figures.base_s[self.tasks] + work / (cores * power * spent)
        return self.jobs["staging_s"].to_numpy(float) + overhead + payload, payload * cores * spent

    def predicted_waits(self, when: str, table: pd.DataFrame) -> np.ndarray:
        """Wait of each job with the batch systems before or after, s; slots that were never short do not limit."""
        values = table[when].mask((when == AFTER) & (table.parameter == "cores") & (table.state != FITTED))
        rows = table.assign(value=values)[table.noun == "queue"].pivot(
            index="name", columns="parameter", values="value")
        waits = np.full(len(self.jobs), np.nan)
        for number, name in enumerate(self.names):
            chosen = np.flatnonzero(self.queues == number)
            batch = Batch(*(float(rows.loc[name, key]) for key in ("batch_latency", "batch_latency_spread", "cores")))
            waits[chosen] = predicted_waits(self.jobs.iloc[chosen], chain_s(self.scenario), batch)
        return waits

    def say_background(self, table: pd.DataFrame) -> None:
        """Remark how many of the cores of the scenario the jobs did not get while they waited."""
        rows = table[(table.parameter == "cores") & (table.state == FITTED) & (table.after < table.before)]
        if len(rows):
            most = rows.assign(other=rows.before - rows.after).nlargest(3, "other")
            self.remarks.append(
                f"At {len(rows)} queues jobs waited while these jobs had fewer cores than the scenario gives; the rest "
                "is load that the records do not have: "
                + ", ".join(f"{name} {after:.0f} of {before:.0f}" for name, before, after in most[
                    ["name", "before", "after"]].itertuples(index=False)) + ".")

    def _today(self, name: str, key: str) -> float:
        """Value of a queue in the scenario, that of its site if the queue has none; NaN = the scenario says nothing."""
        queue = self.scenario.grid.queues[name]
        value = getattr(queue, key)
        if value is None:
            value = getattr(self.scenario.grid.sites[queue.atlas_site], key)
        if value is None:
            return np.nan
        return float(value or UNKNOWN_COREPOWER) if key == "corepower" else float(value)

    def _of_logarithm(self, value: float, width: float, number: int) -> tuple[Estimate, float, float]:
        """Estimate of a positive figure of a queue with the ends of its interval; unknown without a width."""
        estimate = Estimate(value if np.isfinite(width) else np.nan, value * width / 1.96, int(self.counts[number]))
        return estimate, value * float(np.exp(-width)), value * float(np.exp(width))

    def _overheads(self) -> list[tuple[Estimate, float, float]]:
        """Wall time of each queue's jobs before and after their payload: as the pilot timed it, else by the fit."""
        around = (self.jobs["run_s"] - self.jobs["staging_s"] - self.jobs["payload_s"]).to_numpy(float)
        found = []
        for number, (value, width) in enumerate(zip(self.figures.overhead_s, self.figures.widths[2], strict=True)):
            one = location(around[self.fitted & (self.queues == number)])
            if one.n_values < FEWEST:
                one = Estimate(float(value), float(width / 1.96), int(self.counts[number]))
            found.append(_symmetric(one._replace(value=max(one.value, 0.0))))
        return found

    def _latency(self, number: int) -> tuple[Estimate, Estimate]:
        """Median time of a queue's workers in the batch system, and its spread: of jobs that met no waiting job."""
        rows = self.jobs[(self.queues == number) & ~self.jobs["held_out"] & self.jobs["wait_s"].notna()]
        if rows["submit_s"].isna().all():
            rows = rows.assign(submit_s=np.inf)                  # each wait counts as one without a job before it
        rows = rows.sort_values("submit_s", kind="stable")
        started = (rows["submit_s"] + rows["wait_s"]).cummax().shift(fill_value=-np.inf)
        waits = rows["wait_s"][started <= rows["submit_s"]].to_numpy(float) - chain_s(self.scenario)
        if len(waits) < FEWEST:
            return (UNKNOWN._replace(n_values=len(waits)),) * 2
        middle, error = float(np.median(waits)), 1.2533 * spread(waits) / np.sqrt(len(waits))
        if middle <= 0:
            return Estimate(0.0, error, len(waits)), Estimate(0.0, np.nan, len(waits))
        width = spread(np.log(waits[waits > 0]))
        return Estimate(middle, error, len(waits)), Estimate(width, width / np.sqrt(2 * len(waits)), len(waits))

    def _failures(self) -> Iterator[tuple[str, Estimate]]:
        """Probability that each site makes a job fail that does not fail of itself."""
        for name, rows in self.jobs[~self.jobs["held_out"] & (self.jobs["fails"] != "payload")].groupby("site",
                                                                                                    sort=False):
            failed, count = int((rows["fails"] == "site").sum()), int((rows["fails"] != "unknown").sum())
            likely = (failed + 1) / (count + 2)              # Laplace: no failure seen is no proof that there is none
            yield str(name), Estimate(failed / count if count >= FEWEST else np.nan,
                                      np.sqrt(likely * (1 - likely) / (count + 3)), count)


def chain_s(scenario: Scenario) -> float:
    """Mean time from the creation of a job to its start that does not pass in the batch system, s."""
    agents = scenario.agents
    return (agents.setupper + agents.harvester_submitter) / 2 + agents.pilot_startup + agents.first_update


def part_of(table: pd.DataFrame) -> dict[str, Any]:
    """The fitted values as a part of a scenario."""
    grid: dict[str, dict[str, dict[str, float]]] = {}
    for row in table[table.state.isin(WRITTEN)].to_dict("records"):
        if row["parameter"] == "cores" and row["after"] == row["before"]:
            continue                                             # else queues of a site would no longer share its slots
        of_noun = grid.setdefault(f"{row['noun']}s", {}).setdefault(row["name"], {})
        value = float(f"{row['after']:.{SIGNIFICANT}g}")
        of_noun[row["parameter"]] = int(value) if row["parameter"] == "cores" else value
    return {"grid": grid} if grid else {}


def _symmetric(estimate: Estimate) -> tuple[Estimate, float, float]:
    """The estimate with the ends of its interval, at least 0."""
    return estimate, max(estimate.value - 1.96 * estimate.error, 0.0), estimate.value + 1.96 * estimate.error


def _chosen(before: float, found: tuple[Estimate, float, float], state: str) -> tuple[float, float, float, float, int]:
    """Value after, its error, the ends of its interval, and the jobs behind it."""
    estimate, low, high = found
    if state not in WRITTEN:
        return before, np.nan, np.nan, np.nan, estimate.n_values
    return estimate.value, estimate.error, low, high, estimate.n_values


def _state(estimate: Estimate) -> str:
    if estimate.n_values < FEWEST:
        return TOO_FEW
    return FITTED if np.isfinite(estimate.value) else UNSEEN


def left_as_they_were(table: pd.DataFrame) -> Iterable[str]:
    """A sentence for each key that some queues or sites keep; where no job waited, slots were not short."""
    kept = table[~table.state.isin(WRITTEN) & (table.parameter != "cores")]
    for (noun, key, state), rows in kept.groupby(["noun", "parameter", "state"], sort=False):
        names = ", ".join(rows.name.head(3)) + (", ..." if len(rows) > 3 else "")
        why = f"fewer than {FEWEST} jobs show it" if state == TOO_FEW else "the jobs do not show it"
        yield f"{key} of {len(rows)} {noun}{'s' if len(rows) > 1 else ''} is left as it was, because {why}: {names}."
