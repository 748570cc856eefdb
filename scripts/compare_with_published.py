#!/usr/bin/env python3
"""Set figures of runs beside published ones of ATLAS, as a table in Markdown.

    scripts/compare_with_published.py RUN ...          print the table
    scripts/compare_with_published.py RUN ... --write  write it into scenarios/README.md

RUN is the folder of a run of scenarios/atlas_day.yaml, or of a study by `simgrid-broker replicate`; of several runs,
the table has means over the seeds with their standard errors. Published figures: workload statistics, by section (WS),
as in scenarios/README.md. Simulated figures are of jobs that ended, and of samples taken, in the window of the runs'
figures. Each row says how its figure comes about: the scenario says it, keys were set to reach it, or it is predicted.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import simgrid_broker as sb
from simgrid_broker.experiments.intervals import student
from simgrid_broker.metrics.window import end_times, part_of_jobs, selected_jobs, wide, window_of
from simgrid_broker.records import JOB_END_TIMES, write_whole
from simgrid_broker.units import DAY, HOUR

README = Path(__file__).resolve().parents[1] / "scenarios" / "README.md"
BEGIN, END = "<!-- begin of what scripts/compare_with_published.py writes -->", "<!-- end of it -->"
QUARTILES, SPREAD = (25, 50, 75), (5, 25, 50, 75, 95)
ACTIVE = 1.0
"""Mean number of running jobs from which a queue counts as active."""
NEAR = 1.5
"""Factor between a simulated and a published value up to which they agree."""
LONG_WINDOW = 30 * DAY
"""Length of a window from which it shows how long tasks take, s."""
MOST_NAMED = 5
"""Rows that the line below the table names."""
COLUMNS = ("processing_type", "queue", "status", "cause", "walltime_s", "cputime_s", "corecount", "maxpss_mb",
           "hs06_milli", "n_events", "input_bytes", "output_bytes", "n_input_files", "n_output_files", "stage_in_s",
           "transferring_s")
SAMPLED = ("running", "running_cores", "activated", "assigned", "transferring")
TYPES = {"simul": "simulation", "pile": "pile-up", "merge": "merging", "deriv": "derivation",
         "reprocessing": "reprocessing", "evgen": "event generation", "recon": "reconstruction"}
"""Processing types whose jobs are published by type, and their names."""
ANALYSIS, TESTS = "panda-client", ("prod_test", "gangarobot")
"""Processing types of user jobs and of tests."""


class Figures:
    """A run as the rows of the table ask for it.

    ended: jobs that finished or failed in the window, with lists of causes; queues: means over the samples of the
    window, of active queues; days: length of the window; tasks: all of the run; transfers: those that ended in the
    window; storages: their last sample; workers: sums over the window.
    """

    def __init__(self, run: sb.Run):
        self.run, self.window = run, window_of(run)
        self.days = self.window.length_s / DAY
        jobs = selected_jobs(run, [*COLUMNS, *JOB_END_TIMES], lambda rows: self.window.holds(end_times(rows)))
        self.ended = jobs[jobs.status.isin(["finished", "failed"])]
        self.finished, self.failed = (self.ended[self.ended.status == word] for word in ("finished", "failed"))
        samples = run.table("queues", ["time_s", "queue", *SAMPLED])
        means = samples[self.window.holds(samples.time_s)].groupby("queue", observed=True).mean()
        self.all_queues, self.queues = means, means[means.running >= ACTIVE]
        self.waits = wide(sb.metrics.waiting_times(run, by=None)).iloc[0]
        self.links = wide(sb.metrics.link_use(run))
        self.tasks = run.table("tasks", ["processing_type", "n_jobs", "n_events_per_job", "input_bytes_per_job",
                                         "output_bytes_per_job", "arrival_s", "done_s", "finished_s"])
        moved = run.table("transfers", ["ended_s", "bytes", "n_files", "activity", "kind", "n_jobs", "submitted_s",
                                        "started_s"])
        self.transfers = moved[self.window.holds(moved.ended_s)]
        levels = run.table("storages", ["time_s", "total_bytes", "free_bytes", "expired_bytes"])
        self.storages = levels[levels.time_s == levels.time_s.max()]
        workers = run.table("workers", ["time_s", "started", "empty", "used_core_h", "idle_core_h"])
        self.workers = workers[self.window.holds(workers.time_s)].sum()

    def a_day(self, n_jobs: float) -> float:
        """Number of jobs a day, of all jobs where a sample of them has rows."""
        return ratio(n_jobs, self.days * part_of_jobs(self.run))

    def of_type(self, kind: str) -> pd.DataFrame:
        """Finished jobs of one processing type."""
        return self.finished[self.finished.processing_type == kind]

    def production(self) -> pd.DataFrame:
        """Ended jobs of production, without tests."""
        return self.ended[~self.ended.processing_type.isin([ANALYSIS, *TESTS])]


Values = Sequence[float]
Measure = Callable[[Figures], Values]
INPUT, FITTED, PREDICTED = "input", "fitted", "predicted"


class Role(NamedTuple):
    """Origin of a figure of a run.

    kind: INPUT, the scenario says it, from this source, from another one or assumed; FITTED, something was set to reach
    it, or another figure from which it follows; PREDICTED. keys: what says or reaches it: dotted keys of the scenario
    as `--set` takes them, and keys of gdpconfig, also those that an incident sets, a star for several; constants: of
    `scenario/grid/synthetic_grid.py`, which the key grid.synthetic puts in; note: what a reader has to know beside.
    """

    kind: str
    keys: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    note: str = ""

    def __str__(self) -> str:
        named = ", ".join(f"`{name}`" for name in (*self.keys, *self.constants))
        text = f"{self.kind}: {named}" if named else self.kind
        return f"{text} ({self.note})" if self.note else text


def drawn(*constants: str, note: str = "") -> Role:
    """The role of a figure that the synthetic grid is drawn from."""
    return Role(INPUT, ("grid.synthetic",), constants, note)


def said(*keys: str, note: str = "") -> Role:
    """The role of a figure that the campaigns or users say, by keys below `workload`."""
    return Role(INPUT, tuple(f"workload.{key}" for key in keys), note=note)


def of_campaign(name: str, *keys: str, note: str = "") -> Role:
    """The role of a figure that a campaign says."""
    return said(*(f"campaigns.{name}.{key}" for key in keys), note=note)


FREE = Role(PREDICTED)
"""The role of a figure that nothing was set to reach."""
ASSUMED = "assumed"
MOVED = Role(PREDICTED, note="with the flows of `grid.fts.flows`, which are input")
"""The role of traffic: what jobs move is predicted."""
MIXTURE = said("campaigns.*.offered_cores")
"""The role of the numbers of jobs by type, of which the campaigns offer what was published, on more cores."""
RATES = Role(FITTED, ("grid.synthetic",), ("DOOR_PER_CORE", "FILE_RATE", "BACKGROUND"))
"""The role of the rates of links: widths of doors and rates of files are assumed so that they come out."""


def number(value: float) -> str:
    """A whole number with thousands separated."""
    return f"{round(value):,}".replace(",", " ") if np.isfinite(value) else "none"


def decimal(value: float, digits: int = 2) -> str:
    """A number with so many digits behind the point."""
    return f"{value:.{digits}f}" if np.isfinite(value) else "none"


def tenths(value: float) -> str:
    """A number with one digit behind the point."""
    return decimal(value, 1)


def thousandths(value: float) -> str:
    """A number with three digits behind the point."""
    return decimal(value, 3)


class Row(NamedTuple):
    """A figure: what it is, its section, the published values, what a run has, how that comes about, and its digits.

    published: values between slashes, `a to b` for a range, then a note in brackets, or a word where there are none.
    measure: no values of what runs of a day cannot show.
    """

    name: str
    section: str
    published: str
    measure: Measure
    role: Role = FREE
    show: Callable[[float], str] = decimal

    def ranges(self) -> list[tuple[float, float]]:
        """Least and greatest published value of each figure; none where nothing is published."""
        values = re.sub(r" \(.*", "", self.published)
        if not values[0].isdigit():
            return []
        ends = [[float(end.replace(" ", "")) for end in value.split(" to ")] for value in values.split(" / ")]
        return [(end[0], end[-1]) for end in ends]


def quantiles(values: pd.Series, at: Values) -> Values:
    """Quantiles at some per cent."""
    return np.percentile(values, at) if len(values) else [np.nan] * len(at)


def ratio(part: float, whole: float) -> float:
    """A part of a whole; NaN of nothing."""
    return part / whole if whole else np.nan


def mean(values: pd.Series) -> float:
    """A mean; NaN of nothing."""
    return float(values.mean()) if len(values) else np.nan


def power(jobs: pd.DataFrame) -> pd.Series:
    """Wall time x cores of jobs, core s."""
    return jobs.walltime_s * jobs.corecount


def quantiles_by_type(name: str, section: str, at: Values, value: Callable[[pd.DataFrame], pd.Series],
                      rows: dict[str, tuple[str, Role]]) -> Iterator[Row]:
    """Rows of quantiles of a value of finished jobs, for types with what is published of each, and their role."""
    for kind, (published, role) in rows.items():
        yield Row(name.format(TYPES[kind]), section, published,
                  lambda found, kind=kind: quantiles(value(found.of_type(kind)), at), role)


def by_type(name: str, section: str, value: Callable[[Figures, str], float], rows: dict[str, tuple[str, Role]],
            show: Callable[[float], str] = decimal) -> Iterator[Row]:
    """Rows of one value for each of some types."""
    for kind, (published, role) in rows.items():
        yield Row(name.format(TYPES[kind]), section, published,
                  lambda found, kind=kind: [value(found, kind)], role, show)


def efficiency(jobs: pd.DataFrame) -> Values:
    """CPU time of jobs over their wall time x cores."""
    return [ratio(jobs.cputime_s.sum(), power(jobs).sum())]


def power_lost(found: Figures, kind: str) -> float:
    """Wall time x cores of failed jobs, % of that of all of a type."""
    jobs = found.ended[found.ended.processing_type == kind]
    return 100 * ratio(power(jobs[jobs.status == "failed"]).sum(), power(jobs).sum())


def part_failed(jobs: pd.DataFrame) -> Values:
    """Failed jobs, % of ended ones."""
    return [100 * ratio((jobs.status == "failed").sum(), len(jobs))]


def caused_by(*causes: str) -> Measure:
    """Failed jobs with one of some causes, % of all that ended."""
    return lambda found: [100 * ratio(found.failed.cause.isin(causes).sum(), len(found.ended))]


def failed_by_queue(found: Figures) -> Values:
    """Failed part of the ended jobs of each active queue, %."""
    jobs = found.ended[found.ended.queue.isin(found.queues.index)]
    return quantiles(100 * (jobs.status == "failed").groupby(jobs.queue).mean(), SPREAD)


def part_of_seven(found: Figures, kind: str) -> float:
    """Finished jobs of a type, % of those of the seven types."""
    return 100 * ratio(len(found.of_type(kind)), found.finished.processing_type.isin(TYPES).sum())


def power_of(chosen: Callable[[pd.DataFrame], pd.Series], of: Callable[[pd.DataFrame], pd.Series] | None = None
             ) -> Measure:
    """Wall time x cores of some ended jobs, % of that of others, default all."""
    def measure(found: Figures) -> Values:
        spent = power(found.ended)
        whole = spent if of is None else spent[of(found.ended)]
        return [100 * ratio(spent[chosen(found.ended)].sum(), whole.sum())]
    return measure


def work_per_event(found: Figures, kind: str) -> float:
    """Wall time x power of the slots of ended jobs, over the events of finished ones, HS06 s."""
    jobs = found.ended[found.ended.processing_type == kind]
    return ratio((jobs.walltime_s * jobs.hs06_milli / 1000).sum(), found.of_type(kind).n_events.sum())


def of_tasks(found: Figures, kind: str, column: str) -> pd.Series:
    """Jobs of each task of a type times a column of the task that is for one job."""
    tasks = found.tasks[found.tasks.processing_type == kind]
    return tasks.n_jobs * tasks[column]


def durations(found: Figures, *kinds: str, of: Callable[[pd.Series], float]) -> Values:
    """A figure of the time that tasks of each type take, s, of those that end and came in the first half of the window.

    None of a window below LONG_WINDOW, in which long tasks do not end.
    """
    if found.window.length_s < LONG_WINDOW:
        return ()
    early = found.tasks[found.tasks.arrival_s.between(found.window.start_s, found.window.start_s
                                                      + found.window.length_s / 2)]
    took = early.done_s.fillna(early.finished_s) - early.arrival_s
    return [of(took[early.processing_type == kind].dropna()) for kind in kinds]


def in_days(times: pd.Series) -> float:
    """A mean of times, s, in days."""
    return mean(times) / DAY


def largest(found: Figures) -> Values:
    """Running jobs of the 20 largest queues, % of all."""
    running = found.all_queues.running
    return [100 * ratio(running.nlargest(20).sum(), running.sum())]


def over_running(*statuses: str, at: Values = ()) -> Measure:
    """Jobs in some statuses over running ones: of the whole grid, or quantiles over its active queues."""
    def measure(found: Figures) -> Values:
        if at:
            return quantiles(sum(found.queues[name] for name in statuses) / found.queues.running, at)
        return [ratio(sum(found.all_queues[name].sum() for name in statuses), found.all_queues.running.sum())]
    return measure


def most_used(found: Figures, percent: int) -> float:
    """Bytes on so many per cent of the links, the busiest ones, % of all."""
    moved = found.links.moved.sort_values(ascending=False)
    return 100 * moved.head(max(1, round(len(moved) * percent / 100))).sum() / moved.sum() if len(moved) else np.nan


def failed_attempts(found: Figures) -> Values:
    """Attempts at files that failed, % of all."""
    links = found.links[found.links.files > 0]
    failed = (links.files * links.failed / (100 - links.failed)).sum()
    return [100 * ratio(failed, links.files.sum() + failed)]


ACTIVITIES = ("analysis_input", "production_output", "production_input")
"""Activities of transfers for jobs, as both the table of requests and the simulator have them."""


def moved(found: Figures) -> pd.DataFrame:
    """Numbers of files and bytes that were moved, by activity."""
    sums = found.transfers.groupby("activity", observed=True)[["n_files", "bytes"]].sum().reindex(ACTIVITIES)
    return sums.rename(columns={"n_files": "files"})


def under_request(found: Figures) -> pd.DataFrame:
    """Mean numbers of files and bytes that wait or move, by activity, as Rucio's table of requests counts them.

    A request is in that table until it is done, so each file counts for the time from request to arrival.
    """
    rows = found.transfers
    lasts = (rows.ended_s - rows.submitted_s) / found.window.length_s
    of_each = pd.DataFrame({"files": rows.n_files * lasts, "bytes": rows.bytes * lasts})
    return of_each.groupby(rows.activity, observed=True).sum().reindex(ACTIVITIES)


def parts(sums: pd.DataFrame) -> Values:
    """Files for each of the activities, % of those of all three; sums: `moved` or `under_request`."""
    files = sums.files.fillna(0)
    return 100 * files / files.sum() if files.sum() else [np.nan] * len(ACTIVITIES)


def sizes(sums: pd.DataFrame) -> Values:
    """Mean size of the files for each of the activities, GB; sums: `moved` or `under_request`."""
    return sums.bytes / sums.files / 1e9


def time_transferring(found: Figures) -> Values:
    """Mean time of the jobs in transferring, h: until FTS starts their output, until it has arrived, and after that."""
    rows = found.transfers[(found.transfers.kind == "output") & (found.transfers.n_jobs > 0)]
    jobs = found.finished[found.finished.transferring_s.notna()]
    if rows.empty or jobs.empty:
        return [np.nan] * 3
    parts = [np.average(time / HOUR, weights=rows.n_jobs)
             for time in (rows.started_s - rows.submitted_s, rows.ended_s - rows.started_s)]
    return [*parts, mean(jobs.finished_s - jobs.transferring_s) / HOUR - sum(parts)]


LINK_TAGS = ("-links_full", "-link_unusable", "-lowNetworkWeight")
"""Tags of the rules of job brokerage that refuse a queue for its link to the nucleus."""


def refused_for_links(found: Figures) -> Values:
    """Refusals of production brokerage due to links, % of all its refusals."""
    rows = sb.metrics.refusals(found.run)
    rows = rows[(rows.kind == "job_brokerage") & (rows.metric == "refusals") & (rows.tag != sb.metrics.USED)]
    return [100 * ratio(rows.value[rows.tag.isin(LINK_TAGS)].sum(), rows.value.sum())]


MEMORY = said("campaigns.*.memory_per_core")
ROWS = (
    Row("cores in use", "1", "250 000 to 500 000 (2018)", lambda found: [found.all_queues.running_cores.sum()],
        Role(INPUT, ("grid.synthetic.cores",)), number),
    Row("running jobs", "2.2", "282 402 (2021)", lambda found: [found.all_queues.running.sum()], show=number),
    Row("queues with running jobs", "2.2", "112 (2021)", lambda found: [len(found.queues)],
        Role(INPUT, ("grid.synthetic.sites",)), number),
    Row("jobs ended a day", "1", "2 000 000 (2018)", lambda found: [found.a_day(len(found.ended))], show=number),
    Row("finished jobs a day, without tests", "4", "590 641 (1 December 2017)",
        lambda found: [found.a_day((~found.finished.processing_type.isin(TESTS)).sum())], show=number),
    Row("finished jobs a day of the seven types below", "4", "133 300 (1 December 2017)",
        lambda found: [found.a_day(found.finished.processing_type.isin(TYPES).sum())], MIXTURE, number),
    *by_type("{}, % of the finished jobs of seven types", "4", part_of_seven, {
        kind: (part, MIXTURE) for kind, part in (("simul", "32"), ("pile", "18"), ("merge", "23"), ("deriv", "17"),
                                                 ("recon", "5.8"), ("evgen", "3.2"), ("reprocessing", "1.7"))}, tenths),
    Row("wall clock x cores of simulation, % of all", "3", "58 (2018)",
        power_of(lambda jobs: jobs.processing_type == "simul"), MIXTURE, number),
    Row("wall clock x cores of analysis, % of all", "3", "23 (2018)",
        power_of(lambda jobs: jobs.processing_type == ANALYSIS), said("users.*.offered_cores"), number),
    Row("wall clock x cores of jobs of one core, % of that of eight", "3", "10 (aim, 2018)",
        power_of(lambda jobs: jobs.corecount == 1, lambda jobs: jobs.corecount == 8), show=number),
    *quantiles_by_type("wall time of {}, h, quartiles", "5.1", QUARTILES, lambda jobs: jobs.walltime_s / HOUR, {
        "simul": ("0.9 / 2.1 / 9.9", Role(FITTED, ("workload.campaigns.MC16 long simulation.offered_cores",
                                                   "workload.campaigns.MC16 fast simulation.hs06sec_per_event"))),
        "pile": ("1.0 / 1.3 / 4.9", said("campaigns.*.events_per_job")),
        "merge": ("0.1 / 1.2 / 3.1", of_campaign("MC16 merging of AOD", "events_per_job", "hs06sec_per_event")),
        "deriv": ("3.9 / 6.8 / 10.8", of_campaign("MC derivations", "events_per_job", "hs06sec_per_event")),
        "reprocessing": ("0.2 / 0.25 / 0.84", of_campaign("reprocessing of data", "events_per_job")),
        "evgen": ("1.95 / 2.4 / 2.95", of_campaign("MC16 event generation", "events_per_job")),
        "recon": ("0.2 / 0.37 / 0.63", of_campaign("MC15 reconstruction", "events_per_job", "hs06sec_per_event"))}),
    Row("wall time of reprocessing, h, mean", "5.4", "5.35 (2016)",
        lambda found: [mean(found.of_type("reprocessing").walltime_s) / HOUR],
        of_campaign("reprocessing of data", "hs06sec_per_event")),
    *quantiles_by_type("memory per core of {}, GB, quartiles", "5.2", QUARTILES,
                       lambda jobs: jobs.maxpss_mb / jobs.corecount / 1000, {
        "simul": ("0.32 / 0.44 / 0.49", MEMORY), "pile": ("1.46 / 3.05 / 3.27", MEMORY),
        "merge": ("0.25 / 0.78 / 1.01", MEMORY), "deriv": ("1.17 / 1.56 / 2.14", MEMORY),
        "reprocessing": ("1.65 / 1.71 / 1.78", MEMORY), "evgen": ("0.36 / 0.42 / 0.44", MEMORY),
        "recon": ("2.25 / 2.37 / 3.10", MEMORY)}),
    *quantiles_by_type("input per job of {}, GB, 25 / 75 %", "5.3", (25, 75), lambda jobs: jobs.input_bytes / 1e9, {
        "simul": ("0.24 / 0.33", of_campaign("MC16 full simulation", "input_per_job")),
        "pile": ("6.8 / 25", of_campaign("MC16 digitisation and reconstruction", "input_per_job"))}),
    *quantiles_by_type("input per job of {}, GB, quartiles", "5.3", QUARTILES, lambda jobs: jobs.input_bytes / 1e9, {
        "merge": ("0.24 / 4.3 / 30", of_campaign("MC16 merging of AOD", "input_per_job")),
        "deriv": ("60 / 88 / 100", of_campaign("MC derivations", "events_per_job", "input_per_job")),
        "reprocessing": ("0.19 / 0.25 / 0.8", of_campaign("reprocessing of data", "input_per_job")),
        "recon": ("0.69 / 1.75 / 2.7", of_campaign("MC15 reconstruction", "input_per_job"))}),
    Row("input per job of event generation, GB, median", "5.3", "0.004 to 0.02",
        lambda found: quantiles(found.of_type("evgen").input_bytes / 1e9, (50,)),
        of_campaign("MC16 event generation", "input_per_job"), thousandths),
    Row("stage-in of jobs that copy their input, s, median", "5.5", "14 to 566 (five tasks, 2018)",
        lambda found: quantiles(found.finished.stage_in_s[found.finished.stage_in_s > 0], (50,)),
        drawn("STAGE_IN_RATE"), number),
    *by_type("read rate of {}, MB/s, mean", "5.6",
             lambda found, kind: mean(found.of_type(kind).input_bytes / found.of_type(kind).walltime_s) / 1e6,
             {"deriv": ("8.1 (2018)", FREE), "pile": ("2.6 (2018)", FREE)}, tenths),
    *by_type("HS06 s per event of {}", "6.1", work_per_event, {
        kind: (published, of_campaign(name, "hs06sec_per_event")) for kind, published, name in (
            ("evgen", "1 623", "MC16 event generation"), ("simul", "3 878", "MC16 full simulation"),
            ("pile", "861", "MC16 digitisation and reconstruction"))}, number),
    Row("HS06 s per event of derivation", "6.2", "14 to 20 (medians of 2016 and 2020)",
        lambda found: [work_per_event(found, "deriv")], of_campaign("MC derivations", "hs06sec_per_event"), number),
    *by_type("events per task of {}, million, mean", "6.1",
             lambda found, kind: mean(of_tasks(found, kind, "n_events_per_job")) / 1e6, {
        "evgen": ("4.2", of_campaign("MC16 event generation", "jobs_per_task", note=ASSUMED)),
        "simul": ("3.5", of_campaign("MC16 full simulation", "jobs_per_task")),
        "pile": ("3.5", of_campaign("MC16 digitisation and reconstruction", "jobs_per_task", note=ASSUMED)),
        "deriv": ("3.8", of_campaign("MC derivations", "jobs_per_task", note=ASSUMED))}),
    Row("events per task of derivation, million, 5 / 25 / 50 / 75 / 95 %", "6.2", "0.09 / 3.7 / 19 / 47 / 69 (2020)",
        lambda found: quantiles(of_tasks(found, "deriv", "n_events_per_job") / 1e6, SPREAD),
        of_campaign("MC derivations", "jobs_per_task", note=ASSUMED)),
    Row("input of a task of derivation, TB, 5 / 25 / 50 / 75 / 95 %", "6.2", "0.245 / 2.07 / 7.81 / 11.9 / 22.7 (2020)",
        lambda found: quantiles(of_tasks(found, "deriv", "input_bytes_per_job") / 1e12, SPREAD),
        of_campaign("MC derivations", "jobs_per_task", "input_per_event", note=ASSUMED)),
    Row("output of a task of derivation, TB, median", "6.3", "1.29 (2021)",
        lambda found: quantiles(of_tasks(found, "deriv", "output_bytes_per_job") / 1e12, (50,)),
        of_campaign("MC derivations", "jobs_per_task", "output_per_event", note=ASSUMED)),
    Row("size of a file from derivation, GB, mean", "6.3", "7.1 (2021)",
        lambda found: [mean(found.of_type("deriv").output_bytes) / 1e9],        # beside it a job has a small log
        of_campaign("MC derivations", "events_per_job", "output_per_event"), tenths),
    Row("duration of tasks of event generation / simulation / pile-up / derivation, days, mean", "6.1",
        "15.8 / 19.3 / 12.0 / 2.2",
        lambda found: durations(found, "evgen", "simul", "pile", "deriv", of=in_days), show=tenths),
    Row("duration of tasks of derivation, h, median", "6.2", "65 to 467 (2020 and 2016)",
        lambda found: durations(found, "deriv", of=lambda took: float(took.median()) / HOUR), show=number),
    Row("failed, % of finished and failed", "2.2", "9.95 (2021)", lambda found: part_failed(found.ended),
        drawn("SITE_FAILURES")),
    Row("failed by queue, %, 5 / 25 / 50 / 75 / 95 %", "2.2, 8", "0.8 / 2.7 / 5.3 / 13.1 / 38.1", failed_by_queue,
        drawn("SITE_FAILURES"), tenths),
    Row("failed, % of production", "8", "15 to 39 (days of September 2016)",
        lambda found: part_failed(found.production()), show=tenths),
    Row("failed, % of reprocessing", "5.4", "19.9 (2016)",
        lambda found: part_failed(found.ended[found.ended.processing_type == "reprocessing"]),
        of_campaign("reprocessing of data", "failure_rate"), tenths),
    Row("failed, % of analysis", "7", "14 (2011)",
        lambda found: part_failed(found.ended[found.ended.processing_type == ANALYSIS]), show=tenths),
    Row("lost heartbeats, % of finished and failed", "13", ASSUMED, caused_by("lost_heartbeat"),
        drawn("LOST_HEARTBEATS")),
    Row("memory kills, % of finished and failed", "13", ASSUMED, caused_by("memory_exceeded"),
        said("campaigns.*.memory_kills")),
    Row("stage-out errors, % of finished and failed", "13", ASSUMED, caused_by("transfer_error"),
        drawn("STAGE_OUT_ERRORS")),
    *by_type("power lost to failed jobs of {}, %", "6.1", power_lost, {
        "evgen": ("10.3", FREE), "simul": ("14.4", FREE), "pile": ("5.0", FREE), "merge": ("6.7 to 8.2", FREE),
        "deriv": ("25 (of a small sum)", FREE)}, tenths),
    *by_type("CPU efficiency, finished jobs of {}", "5.4, 5.5",
             lambda found, kind: efficiency(found.of_type(kind))[0], {
        "reprocessing": ("0.625 (2016)", of_campaign("reprocessing of data", "cpu_efficiency")),
        "pile": ("0.83 (2018)", of_campaign("MC16 digitisation and reconstruction", "cpu_efficiency")),
        "merge": ("0.25 to 0.74 (2018)", of_campaign("MC16 merging of AOD", "cpu_efficiency"))}),
    Row("CPU efficiency, finished jobs", "11", "0.73 to 0.91 (US, 2015-17)", lambda found: efficiency(found.finished)),
    Row("CPU efficiency, failed jobs", "5.4", "0.26 (2016)", lambda found: efficiency(found.failed),
        said("campaigns.*.failed_cpu_efficiency")),
    Row("analysis jobs ended a day", "1", "286 000 to 1 000 000 (2012-13)",
        lambda found: [found.a_day((found.ended.processing_type == ANALYSIS).sum())], show=number),
    Row("wall time of analysis, h, median", "7", "0.34 (two jobs, 2017 and 2025)",
        lambda found: quantiles(found.of_type(ANALYSIS).walltime_s / HOUR, (50,)),
        said("users.analysis.hs06sec_per_event", note=ASSUMED)),
    Row("input per job of analysis, GB, median", "7", "0.52 to 0.82 (two jobs, 2017 and 2025)",
        lambda found: quantiles(found.of_type(ANALYSIS).input_bytes / 1e9, (50,)),
        said("users.analysis.input_per_job", note=ASSUMED)),
    Row("output per job of analysis, GB, median", "7", "0.004 to 0.20 (two jobs, 2017 and 2025)",
        lambda found: quantiles(found.of_type(ANALYSIS).output_bytes / 1e9, (50,)),
        said("users.analysis.output_per_job"), thousandths),
    Row("empty pilots, % of all", "8", "2 to 90 (2017)",
        lambda found: [100 * ratio(found.workers["empty"], found.workers["started"])], show=tenths),
    Row("wall time of pilots without a payload, %", "8", "0.1 to 0.8 (2017)", lambda found: [
        100 * ratio(found.workers["idle_core_h"], found.workers[["idle_core_h", "used_core_h"]].sum())]),
    Row("running jobs by queue, 5 / 25 / 50 / 75 / 95 %", "2.2", "5 / 209 / 897 / 2 329 / 6 622",
        lambda found: quantiles(found.queues.running, SPREAD), show=number),
    Row("running jobs of the 20 largest queues, % of all", "2.2", "70", largest,
        drawn("POOLS_IN_USE", "LARGEST_POOLS", "PART_OF_LARGEST"), number),
    Row("queued over running by queue, 5 / 50 / 95 %", "2.2", "0.025 / 0.35 / 1.7",
        over_running("assigned", "activated", at=(5, 50, 95))),
    Row("queued over running, whole grid", "2.2", "0.35", over_running("assigned", "activated")),
    Row("transferring over running, median of queues", "2.2", "0.10", over_running("transferring", at=(50,))),
    Row("transferring over running, whole grid", "2.2", "0.10", over_running("transferring")),
    Row("time in transferring, h, mean: for FTS / to move / for callbacks", "13", "not published", time_transferring),
    Row("refusals of production brokerage due to links, %", "13", "not published", refused_for_links),
    Row("traffic between sites, GB/s", "10.1", "16.8 to 17.2 (2019, all activities)",
        lambda found: [found.links.rate.sum()], MOVED, tenths),
    Row("files moved a day", "10.1", "1 870 000 to 1 900 000 (2019, all activities)",
        lambda found: [ratio(found.links.files.sum(), found.days)], MOVED, number),
    Row("size of a file moved, MB, mean", "10.1", "762 (2019)",
        lambda found: [1e6 * ratio(found.links.moved.sum(), found.links.files.sum())], MOVED, number),
    Row("files moved for analysis input / production output / production input, % of the three", "10.2",
        "64 / 22 / 14 (requests, 2021)", lambda found: parts(moved(found)), show=number),
    Row("size of a file of these activities, GB, mean", "10.2", "1.38 / 1.41 / 1.92 (requests, 2021)",
        lambda found: sizes(moved(found))),
    Row("files under request for these activities, % of the three", "10.2", "64 / 22 / 14 (requests, 2021)",
        lambda found: parts(under_request(found)), show=number),
    Row("size of a file under request, GB, mean", "10.2", "1.38 / 1.41 / 1.92 (requests, 2021)",
        lambda found: sizes(under_request(found))),
    Row("links with traffic", "10.1", "8 349 (of 14 280, 28 days of 2019)", lambda found: [len(found.links)],
        MOVED, number),
    Row("mean rate by link, MB/s, 25 / 50 / 75 %", "10.1", "0.025 / 0.32 / 1.5 (28 days of 2019)",
        lambda found: quantiles(1000 * found.links.rate, QUARTILES), RATES),
    Row("mean rate by link, MB/s, 90 / 95 / 99 %", "10.1", "4.7 / 9.0 / 26 (28 days of 2019)",
        lambda found: quantiles(1000 * found.links.rate, (90, 95, 99)), RATES, tenths),
    Row("bytes on the busiest 1 / 10 % of the links, %", "10.1", "23 / 69 (2019)",
        lambda found: [most_used(found, part) for part in (1, 10)], MOVED, number),
    Row("failed attempts at files, %", "10.1", "7.2 to 11.7 (2019)", failed_attempts,
        drawn("FAILURE_MEDIAN", "FAILURE_SIGMA"), tenths),
    Row("failed attempts by link, %, 50 / 75 / 95 %", "10.1", "3 / 11 / 54 (28 days of 2019)",
        lambda found: quantiles(found.links.failed.dropna(), (50, 75, 95)), drawn("FAILURE_MEDIAN", "FAILURE_SIGMA"),
        tenths),
    Row("size of a storage, TB, 5 / 25 / 50 / 75 / 95 %", "10.3", "8.8 / 645 / 1 814 / 3 170 / 14 529 (2021)",
        lambda found: quantiles(found.storages.total_bytes / 1e12, SPREAD), drawn("ENDPOINT_BYTES"), number),
    Row("free / deletable part of a storage, median", "10.3", "0.109 / 0.25 (2021)",
        lambda found: [*quantiles(found.storages.free_bytes / found.storages.total_bytes, (50,)),
                       *quantiles(found.storages.expired_bytes / found.storages.total_bytes, (50,))],
        drawn("FREE", "EXPIRED")),
    Row("input files / output files per job, mean", "10.5", "6.6 / 2.2 (NDGF, 2011)",
        lambda found: [mean(found.finished.n_input_files), mean(found.finished.n_output_files)],
        said("campaigns.*.files_per_job", note=ASSUMED), tenths),
    Row("size of an input file / output file, MB, mean", "10.5", "338 / 100 (NDGF, 2011)",
        lambda found: [ratio(found.finished.input_bytes.sum(), found.finished.n_input_files.sum()) / 1e6,
                       ratio(found.finished.output_bytes.sum(), found.finished.n_output_files.sum()) / 1e6],
        said("campaigns.*.files_per_job", "campaigns.*.output_per_event"), number),
    Row("wait for a slot, h, median", "9", "0.15 to 3.4 (five tasks, 2018)", lambda found: [found.waits.wait_km_p50]),
    Row("wait for a slot, h, 95 %", "9", "1.5 to 20 (five tasks, 2018)", lambda found: [found.waits.wait_km_p95]),
)

MORE_DAYS = ", beside more days"
"""End of the names of figures that are compared with what more days were like."""
OF_MORE_DAYS = {
    "running jobs": "282 402 to 299 502 (three days of 2021)",
    "queues with running jobs": "112 to 167 (three days of 2021)",
    "wall clock x cores of jobs of one core, % of that of eight": "10 to 67 (aim, 2018; US sites, January 2017, WS 4)",
    "failed, % of finished and failed": "9.89 to 10.8 (three days of 2021)",
    "failed by queue, %, 5 / 25 / 50 / 75 / 95 %": "0 to 0.8 / 2.2 to 2.7 / 5.3 to 6.0 / 13.0 to 14.5 / 38.1 to 57",
    "running jobs by queue, 5 / 25 / 50 / 75 / 95 %": (
        "1 to 5 / 45 to 209 / 348 to 897 / 1 451 to 2 329 / 5 763 to 6 622"),
    "running jobs of the 20 largest queues, % of all": "68 to 70 (three days of 2021)",
    "queued over running by queue, 5 / 50 / 95 %": "0.025 to 0.15 / 0.35 to 1.6 / 1.7 to 14.7",
    "queued over running, whole grid": "0.35 to 1.19 (three days of 2021)",
    "transferring over running, median of queues": "0.07 to 0.10 (three days of 2021)",
    "transferring over running, whole grid": "0.09 to 0.14 (three days of 2021)",
    "links with traffic": "5 000 to 8 349 (a day, and 28 days, of 2019)"}
"""Ranges of figures over more days than WS has, a second yardstick by the name of the row; scenarios/README.md has the
days and their sources."""


class Line(NamedTuple):
    """A row with the values of some runs, (n_runs, n_values); none for what a day cannot show."""

    row: Row
    values: np.ndarray

    def simulated(self) -> str:
        """Means over the runs, with their standard errors if there are several."""
        if not self.values.size:
            return "not in a day"
        means, show = [student(column) for column in self.values.T], self.row.show
        errors = f" ± {' / '.join(show(found.error) for found in means)}" if len(self.values) > 1 else ""
        return " / ".join(show(found.value) for found in means) + errors

    def factor(self) -> float:
        """The largest factor between a mean and what is published, 1 within a range; NaN where one is missing."""
        ranges = self.row.ranges()
        if not ranges or not self.values.size:
            return np.nan
        with np.errstate(divide="ignore"):
            return max(max(least / value, value / most, 1.0) for (least, most), value in zip(
                ranges, self.values.mean(axis=0), strict=True))

    def text(self) -> str:
        """The line in Markdown."""
        factor = self.factor()
        off = "" if np.isnan(factor) else tenths(factor) if np.isfinite(factor) else "all"
        row = self.row
        return (f"| {row.name} | {row.section} | {row.published} | {self.simulated()} | "
                f"{f'**{off}**' if factor > NEAR else off} | {row.role} |")


def lines_of(runs: Iterable[sb.Run]) -> list[Line]:
    """The rows with their values in some runs, one run after the other."""
    measured = [{row.name: row.measure(found) for row in ROWS} for found in map(Figures, runs)]
    values = {row.name: [list(of_run[row.name]) for of_run in measured] for row in ROWS}
    return [Line(row, np.array(values[row.name.removesuffix(MORE_DAYS)], float)) for row in all_rows()]


def all_rows() -> Iterator[Row]:
    """The rows; one with a range of more days comes again with that."""
    for row in ROWS:
        yield row
        if row.name in OF_MORE_DAYS:
            yield row._replace(name=row.name + MORE_DAYS, published=OF_MORE_DAYS[row.name])


def verdict(lines: Sequence[Line], kind: str) -> str:
    """Sentence with the number of rows of a kind that agree with what is published, and those furthest from it."""
    lines = [line for line in lines if line.row.role.kind == kind and not np.isnan(line.factor())]
    compared = [line for line in lines if not line.row.name.endswith(MORE_DAYS)]
    missed = sorted((line for line in compared if line.factor() > NEAR), key=Line.factor, reverse=True)
    named = "; ".join(f"{line.row.name} ({tenths(line.factor())})" for line in missed[:MOST_NAMED])
    text = f"Of {len(compared)} {kind} rows with published values {len(compared) - len(missed)} lie within a factor"
    text = f"{text} {NEAR} and {len(missed)} miss it, most of all: {named}." if missed else f"{text} {NEAR}."
    second = {line.row.name.removesuffix(MORE_DAYS): line for line in lines}        # the later line of a figure counts
    near = sum(line.factor() <= NEAR for line in second.values())
    return text + (f" Beside more days, where there are some, {near} do." if len(second) < len(lines) else "")


def table(runs: Sequence[sb.Run]) -> str:
    """The table of some runs in Markdown, with a line that says which they are, and what agrees below."""
    lines, manifest = lines_of(runs), runs[0].manifest
    seeds = ", ".join(str(run.manifest["seed"]) for run in runs)
    text = [f"`{manifest['scenario']['name']}.yaml`, seed{'s' * (len(runs) > 1)} {seeds}; figures over "
            f"{window_of(runs[0])}.", "", "| figure | WS | published | simulated | factor | role |",
            "| --- | --- | --- | --- | --- | --- |", *(line.text() for line in lines), "",
            *(f"- {verdict(lines, kind)}" for kind in (PREDICTED, FITTED, INPUT))]
    return "\n".join(text)


def write(text: str, page: Path = README) -> None:
    """Replace what stands between the two markers of a page."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    write_whole(page, f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def runs_in(folder: str) -> list[sb.Run]:
    """The run in a folder, or those of the study in it."""
    if (Path(folder) / "study.json").is_file():
        study = sb.read_study(folder)
        return [study.run(point) for point in study.finished()]
    return [sb.read_run(folder)]


def main() -> None:
    """Print or write the table of the runs that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="RUN", nargs="+", help="folder of a run, or of a study of several seeds")
    parser.add_argument("--write", action="store_true", help="write the table into scenarios/README.md")
    arguments = parser.parse_args()
    text = table([run for folder in arguments.runs for run in runs_in(folder)])
    if arguments.write:
        write(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
