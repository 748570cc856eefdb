"""`calibrate`: figures of queues and sites that recorded jobs agree with, and by how much they improve predictions.

The wall time of a job is taken as staging + payload_overhead + work / (cores x corepower x CPU efficiency), its CPU
time as work / corepower, with the figures of its queue; a queue's CPU efficiency is that of the task times a factor.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from simgrid_broker.errors import InputFileError, Problem, nearest
from simgrid_broker.experiments.intervals import (
    UNKNOWN,
    Estimate,
    line,
    location,
    medians,
    parts,
    polished,
    spread,
)
from simgrid_broker.luck import key_of, keys
from simgrid_broker.metrics import tidy, walltime_errors
from simgrid_broker.metrics.replay import OF_WALLTIMES
from simgrid_broker.scenario import Scenario, load_scenario
from simgrid_broker.scenario.importers.files import Tally
from simgrid_broker.scenario.importers.panda import ran_at, read_panda_jobs
from simgrid_broker.schema.jobs import RecordColumns
from simgrid_broker.schema.queues import UNKNOWN_COREPOWER

NEEDED = (("pandaid",), ("creationtime",), ("starttime+endtime", "durationsec"), ("computingsite",), ("jobstatus",),
          ("cpuconsumptiontime",), ("work", "jeditaskid"))
"""Columns that a calibration needs, each in one of the ways."""

FINISHED, FAILED = "finished", "failed"

PAYLOAD_ERRORS = (1150, 1203, 1212, 1220, 1223, 1235, 1305, 1328, 1355)
"""Errors of the pilot that the payload causes: it loops, crashes, needs too much memory or fails of itself.

Source: the pilot's list of error codes."""


def calibration_jobs(scenario: Scenario, records: Path, columns: RecordColumns | None, held_out: float,
                     seed: int) -> tuple[pd.DataFrame, list[str]]:
    """Table of the jobs that finished or failed, and remarks.

    In addition to the columns of `read_panda_jobs`: site, share, group (task, else share), held_out, staging_s, and
    fails: "site", "payload" or "". Raises InputFileError with all queues that the scenario does not have.
    """
    tally = Tally()
    jobs = read_panda_jobs(records, tally, None, columns, NEEDED)
    refuse_unknown(jobs, scenario, records)
    status = jobs["jobstatus"].str.lower()
    used = status.isin([FINISHED, FAILED]) & jobs["run_s"].notna()
    tally.count_all("jobs that neither finished nor failed, or never ran, which are not used", jobs["pandaid"][~used])
    jobs = jobs[used].reset_index(drop=True)
    if not len(jobs):
        raise InputFileError([Problem(str(records), None, "", None, "at least one job that finished or failed was "
                                      "expected")])
    at = ran_at(scenario.grid, jobs["computingsite"])
    ins, outs = at.staging_s(jobs)
    sites = pd.Series(list(scenario.grid.sites), dtype=object)
    jobs = jobs.assign(
        site=sites.iloc[at.site].to_numpy(), share=jobs["gshare"].replace("", "unknown"),
        group=jobs["jeditaskid"].where(jobs["jeditaskid"] != "", "share " + jobs["gshare"]),
        held_out=is_held_out(jobs["pandaid"], held_out, seed), fails=_fails(jobs, tally),
        staging_s=jobs["stage_in_s"].fillna(pd.Series(ins)) + jobs["stage_out_s"].fillna(pd.Series(outs)))
    return jobs, tally.remarks()


def is_held_out(identifiers: Sequence[str], part: float, seed: int) -> np.ndarray:
    """Mask of the jobs held out of the fit, (n,) bool, by identifier and seed alone: other jobs change nothing."""
    drawn = keys(key_of(f"/held out {seed}"), np.array([key_of(name) for name in identifiers], np.int64))
    return drawn / 2.0**63 < part


def refuse_unknown(jobs: pd.DataFrame, scenario: Scenario, records: Path) -> None:
    """Raise InputFileError with each queue of the records that the scenario does not have, at its first job."""
    queues = tuple(scenario.grid.queues)
    strange = jobs[~jobs["computingsite"].isin(queues)].groupby("computingsite", sort=False)
    problems = [Problem(str(records), int(rows["line"].iloc[0]), "computingsite", name or None,
                        f"the scenario has no such PanDA queue ({len(rows)} jobs)", nearest(str(name), queues))
                for name, rows in strange]
    if problems:
        raise InputFileError(problems)


def _fails(jobs: pd.DataFrame, tally: Tally) -> np.ndarray:
    """Cause of the failure of each job, "payload" or "site", "" for jobs that did not fail."""
    failed = (jobs["jobstatus"].str.lower() == FAILED).to_numpy()
    pilot, own = jobs["piloterrorcode"], jobs[["exeerrorcode", "transexitcode"]]
    if failed.any() and pilot.isna().all() and own.isna().all().all():
        tally.say("the records have no error codes, so all failures count as those of sites")
    of_payload = pilot.isin(PAYLOAD_ERRORS) | ((own.fillna(0) != 0).any(axis=1) & (pilot.fillna(0) == 0))
    return np.where(failed, np.where(of_payload, "payload", "site"), "")


FEWEST = 10
"""Jobs that an estimate needs; a queue or site with fewer keeps its values."""

OF_QUEUES = {"corepower": "HS06/core", "cpu_efficiency": "", "payload_overhead": "s", "batch_latency": "s",
             "batch_latency_spread": ""}
OF_SITES = {"failure_rate": ""}
"""Keys of the scenario that are fitted, and their units."""

OF_PARAMETERS = ("noun", "name", "parameter", "before", "after", "error", "jobs", "unit", "state")
"""Columns of the table of parameters."""

ROUNDS, SAME = 40, 1e-4
"""Most rounds of lines and efficiencies in turn, and the change of the latter below which they end."""

FITTED, TOO_FEW, UNSEEN = "fitted", "too few jobs", "not to be seen"
WHEN = ("before", "after")
DIMENSIONS = ("site", "queue", "share")
SIGNIFICANT = 6
"""Digits of the written values."""


class Calibration(NamedTuple):
    """parameters: OF_PARAMETERS; errors: tidy, of the held-out jobs by when, dimension and name; part: of a scenario.

    jobs: those of the records with their predicted wall times before and after, s; remarks: sentences.
    """

    parameters: pd.DataFrame
    errors: pd.DataFrame
    part: dict[str, Any]
    jobs: pd.DataFrame
    remarks: tuple[str, ...]


class Work(NamedTuple):
    """Work of each job, HS06 s: as a factor of its own and a part that its group has in common, in logarithms."""

    log_own: np.ndarray
    of_group: np.ndarray
    is_known: np.ndarray

    def of(self, groups: np.ndarray) -> np.ndarray:
        """Work of each job, NaN = unknown; groups: (n_jobs,) numbers."""
        return np.where(self.is_known[groups], np.exp(self.log_own + self.of_group[groups]), np.nan)


def calibrate(scenario: Scenario | str | Path, records: str | Path, held_out: float = 0.2, seed: int = 0,
              columns: Mapping[str, str] | None = None) -> Calibration:
    """Fit queues and sites of a scenario to PanDA job records, and test the fit on jobs that were held out.

    held_out: part of the jobs, 0 to below 1, chosen by their identifiers and `seed`; columns: names in the file by
    PanDA's. Raises InputFileError for records that cannot be used, with all queues that the scenario does not have.
    """
    loaded = scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
    given = RecordColumns(**columns) if columns else _columns_of(loaded)
    jobs, remarks = calibration_jobs(loaded, Path(records), given, held_out, seed)
    fit = Fit(loaded, jobs)
    table = pd.DataFrame(list(fit.parameters()), columns=list(OF_PARAMETERS))
    part = part_of(table)
    jobs = jobs.assign(work=fit.work.of(fit.groups), **{f"predicted_{when}_s": fit.predicted(when, table)
                                                        for when in WHEN})
    return Calibration(table, errors_of(jobs, held_out), part, jobs, (*remarks, *fit.remarks))


def _columns_of(scenario: Scenario) -> RecordColumns:
    trace = scenario.workload.trace
    return trace.columns if trace is not None else RecordColumns()


class Fit:
    """Estimates from the jobs that are not held out, in the order in which they build on one another."""

    def __init__(self, scenario: Scenario, jobs: pd.DataFrame):
        self.scenario, self.jobs, self.remarks = scenario, jobs, list[str]()
        self.groups, self.queues = pd.factorize(jobs["group"])[0], pd.factorize(jobs["computingsite"])[0]
        self.names = list(dict.fromkeys(jobs["computingsite"]))
        self.fitted = ((jobs["jobstatus"].str.lower() == FINISHED) & ~jobs["held_out"]
                       & (jobs["cpuconsumptiontime"] > 0)).to_numpy()
        self.before = {name: [self._today(name, key) for key in OF_QUEUES] for name in self.names}
        self.counts = np.bincount(self.queues[self.fitted], minlength=len(self.names))
        self.work, self.power = self._powers()
        self.overhead = self._overheads()
        self.efficiency, self.of_tasks = self._efficiencies()

    def parameters(self) -> Iterator[tuple]:
        """Rows of OF_PARAMETERS."""
        for number, name in enumerate(self.names):
            latency, width = self._latency(number)
            estimates = (self.power[number], self.efficiency[number], self.overhead[number], latency, width)
            for (key, unit), before, estimate in zip(OF_QUEUES.items(), self.before[name], estimates, strict=True):
                yield ("queue", name, key, before, *_chosen(before, estimate), unit, _state(estimate))
        for name, estimate in self._failures():
            before = self.scenario.grid.sites[name].failure_rate
            yield ("site", name, "failure_rate", before, *_chosen(before, estimate), "", _state(estimate))

    def predicted(self, when: str, table: pd.DataFrame) -> np.ndarray:
        """Wall time of each job with the figures before or after, s, NaN = its work is unknown."""
        rows = table[table.noun == "queue"].pivot(index="name", columns="parameter", values=when).loc[self.names]
        power, factor, overhead = (rows[key].to_numpy(float)[self.queues] for key in list(OF_QUEUES)[:3])
        spent = np.minimum(self.of_tasks[self.groups] * factor, 1.0)
        return (self.jobs["staging_s"] + overhead + self.work.of(self.groups)
                / (self.jobs["cores"] * power * spent)).to_numpy(float)

    def _today(self, name: str, key: str) -> float:
        """Value of a queue in the scenario, that of its site if the queue has none."""
        queue = self.scenario.grid.queues[name]
        value = getattr(queue, key)
        if value is None:
            value = getattr(self.scenario.grid.sites[queue.atlas_site], key)
        return float(value or UNKNOWN_COREPOWER) if key == "corepower" else float(value)

    def _powers(self) -> tuple[Work, list[Estimate]]:
        """Work of the jobs, and HS06 per core of each queue: work over CPU time."""
        log_cpu = np.log(self.jobs["cpuconsumptiontime"].where(self.jobs["cpuconsumptiontime"] > 0).to_numpy(float))
        worked = (self.jobs["work"] > 0).to_numpy()
        everything = np.ones(self.groups.max() + 1, bool)
        if worked.any():
            self.fitted = self.fitted & worked
            self.counts = np.bincount(self.queues[self.fitted], minlength=len(self.names))
            work = Work(np.log(self.jobs["work"].where(worked).to_numpy(float)), np.zeros(len(everything)), everything)
        else:
            self.remarks.append("The records do not say how much work a job is, so the queues are compared by jobs of "
                                "the same tasks, and keep the mean power that the scenario gives them.")
            work = self._compared(log_cpu)
        ratios = np.log(work.of(self.groups)) - log_cpu
        return work, [_exponential(estimate) for estimate in self._by_queue(ratios)]

    def _compared(self, log_cpu: np.ndarray) -> Work:
        """Work of each task from the CPU times of its jobs, per event where all have events."""
        events = self.jobs["nevents"].where(self.jobs["nevents"] > 0)
        per_event = events.notna().groupby(self.groups).transform("all")
        log_own = np.log(events.where(per_event, 1.0).to_numpy(float))
        rows, queues = self.groups[self.fitted], self.queues[self.fitted]
        if not len(rows):
            return Work(log_own, np.zeros(self.groups.max() + 1), np.zeros(self.groups.max() + 1, bool))
        tasks, numbers = np.unique(rows, return_inverse=True)
        of_tasks, of_queues = polished((log_cpu - log_own)[self.fitted]
                                       + self._log_today()[self.queues][self.fitted], numbers, queues)
        used, part = np.unique(queues), parts(numbers, queues)
        mean = pd.Series(of_queues[used]).groupby(part[used]).mean()        # each queue once: its power is kept in mean
        shift = np.zeros(len(of_tasks))
        shift[numbers] = mean.loc[part[queues]].to_numpy()
        if (n_parts := len(mean)) > 1:
            self.remarks.append(f"The queues fall into {n_parts} groups without a common task; powers can be compared "
                                "within a group only.")
        is_fitted, of_group = np.zeros(self.groups.max() + 1, bool), np.zeros(self.groups.max() + 1)
        is_fitted[tasks], of_group[tasks] = True, of_tasks + shift
        return Work(log_own, of_group, is_fitted)

    def _log_today(self) -> np.ndarray:
        return np.log([self.before[name][0] for name in self.names])

    def _overheads(self) -> list[Estimate]:
        """Wall time of each queue's jobs before and after their payload: as the pilot timed it, else by lines."""
        rest = (self.jobs["run_s"] - self.jobs["staging_s"]).to_numpy(float)
        around = rest - self.jobs["payload_s"].to_numpy(float)
        timed = [location(around[self.fitted & (self.queues == number)]) for number in range(len(self.names))]
        fewest = min((one.n_values for one in timed), default=0)
        lines = self._lines(rest) if fewest < FEWEST else timed
        return [_not_negative(one if one.n_values >= FEWEST else line_of)
                for one, line_of in zip(timed, lines, strict=True)]

    def _lines(self, rest: np.ndarray) -> list[Estimate]:
        """Overheads as intercepts of wall times over CPU times, of which tasks use different parts.

        Known work over power wins over measured CPU times: errors of the latter would flatten the lines.
        """
        power = np.array([one.value if one.n_values >= FEWEST else np.nan for one in self.power])[self.queues]
        cpu = (self.jobs["work"] / power).fillna(self.jobs["cpuconsumptiontime"])
        core_s = (cpu / self.jobs["cores"]).to_numpy(float)
        usable = self.fitted & (rest > 0)
        chosen = [np.flatnonzero(usable & (self.queues == number)) for number in range(len(self.names))]
        spent, n_groups = np.full(self.groups.max() + 1, 1.0), self.groups.max() + 1
        lines: list[tuple[Estimate, Estimate]] = []
        for _ in range(ROUNDS):
            payload = core_s / spent[self.groups]
            lines = [line(payload[rows], rest[rows]) if len(rows) >= FEWEST else (UNKNOWN, UNKNOWN) for rows in chosen]
            overhead, slope = (np.nan_to_num(np.array([pair[k].value for pair in lines]), nan=k) for k in (0, 1))
            left = (rest - overhead[self.queues]) / slope[self.queues]
            valid = usable & (left > 0)
            before, spent = spent, np.exp(medians(np.log(core_s[valid] / left[valid]), self.groups[valid], n_groups))
            if np.abs(spent - before).max() < SAME:
                break
        return [pair[0] for pair in lines]

    def _efficiencies(self) -> tuple[list[Estimate], np.ndarray]:
        """Factor of each queue on the CPU efficiency of its tasks, and the efficiency of each task without it."""
        today = np.array([self.before[name][1:3] for name in self.names])
        overhead = np.array([one.value if one.n_values >= FEWEST else old for one, old in
                             zip(self.overhead, today[:, 1], strict=True)])
        payload = self.jobs["payload_s"].fillna(self.jobs["run_s"] - self.jobs["staging_s"] - overhead[self.queues])
        spent = (self.jobs["cpuconsumptiontime"] / (self.jobs["cores"] * payload)).to_numpy(float)
        usable = self.fitted & (payload.to_numpy(float) > 0) & np.isfinite(spent)
        values = np.log(np.where(usable, spent, 1.0)) - np.log(today[:, 0])[self.queues]
        whole = np.median(values[usable]) if usable.any() else 0.0
        tasks = np.full(self.groups.max() + 1, whole)
        if usable.any():
            rows, numbers = np.unique(self.groups[usable], return_inverse=True)
            tasks[rows] = polished(values[usable], numbers, self.queues[usable])[0]
        factors = np.where(usable, values - tasks[self.groups] + np.log(today[:, 0])[self.queues], np.nan)
        return [_exponential(one) for one in self._by_queue(factors)], np.exp(tasks)

    def _by_queue(self, values: np.ndarray) -> list[Estimate]:
        """Location of the values of each queue's fitted jobs; unknown for too few."""
        return [location(values[self.fitted & (self.queues == number)]) if count >= FEWEST else
                UNKNOWN._replace(n_values=int(count)) for number, count in enumerate(self.counts)]

    def _latency(self, number: int) -> tuple[Estimate, Estimate]:
        """Median time of a queue's workers in the batch system, and its spread: of jobs that met no waiting job."""
        rows = self.jobs[(self.queues == number) & ~self.jobs["held_out"] & self.jobs["wait_s"].notna()]
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
            failed, count = int((rows["fails"] == "site").sum()), len(rows)
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
    for row in table[table.state == FITTED].to_dict("records"):
        of_noun = grid.setdefault(f"{row['noun']}s", {}).setdefault(row["name"], {})
        of_noun[row["parameter"]] = float(f"{row['after']:.{SIGNIFICANT}g}")
    return {"grid": grid} if grid else {}


def errors_of(jobs: pd.DataFrame, held_out: float) -> pd.DataFrame:
    """Errors of the predicted wall times, tidy: dimension, name, when, and the metrics of `recorded_walltimes`.

    Of the finished jobs that were held out; of all if none were.
    """
    chosen = jobs[(jobs["jobstatus"].str.lower() == FINISHED) & (jobs["held_out"] | (held_out == 0))]
    chosen = chosen.rename(columns={"computingsite": "queue"}).dropna(subset=[f"predicted_{when}_s" for when in WHEN])
    rows = [{"dimension": by, "name": name, "when": when, **walltime_errors(part["run_s"], part[f"predicted_{when}_s"])}
            for by, name, part in _divided(chosen) for when in WHEN]
    dimensions = ["dimension", "name", "when"]
    return tidy(pd.DataFrame(rows, columns=[*dimensions, *OF_WALLTIMES]), dimensions, OF_WALLTIMES,
                "held-out jobs" if held_out else "all jobs")


def _divided(jobs: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """All jobs, then those of each site, queue and share, the largest first."""
    if len(jobs):
        yield "all", "all", jobs
    for by in DIMENSIONS:
        for name in jobs[by].value_counts().index:
            yield by, str(name), jobs[jobs[by] == name]


def _chosen(before: float, estimate: Estimate) -> tuple[float, float, int]:
    """Value after, its error, and the jobs behind it."""
    is_fitted = _state(estimate) == FITTED
    return (estimate.value if is_fitted else before), (estimate.error if is_fitted else np.nan), estimate.n_values


def _state(estimate: Estimate) -> str:
    if estimate.n_values < FEWEST:
        return TOO_FEW
    return FITTED if np.isfinite(estimate.value) else UNSEEN


def _not_negative(estimate: Estimate) -> Estimate:
    return estimate._replace(value=max(estimate.value, 0.0)) if estimate.n_values else estimate


def _exponential(estimate: Estimate) -> Estimate:
    """The estimate of a value from that of its logarithm."""
    value = float(np.exp(estimate.value))
    return Estimate(value, value * estimate.error, estimate.n_values)


def left_as_they_were(table: pd.DataFrame) -> Iterable[str]:
    """A sentence for each key that some queues or sites keep."""
    for (noun, key, state), rows in table[table.state != FITTED].groupby(["noun", "parameter", "state"], sort=False):
        names = ", ".join(rows.name.head(3)) + (", ..." if len(rows) > 3 else "")
        why = f"fewer than {FEWEST} jobs show it" if state == TOO_FEW else "the jobs do not show it"
        yield f"{key} of {len(rows)} {noun}{'s' if len(rows) > 1 else ''} is left as it was, because {why}: {names}."
