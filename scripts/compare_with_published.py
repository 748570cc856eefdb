#!/usr/bin/env python3
"""Set figures of a run beside published ones of ATLAS, as a table in Markdown.

    scripts/compare_with_published.py RUN              print the table
    scripts/compare_with_published.py RUN --write      write it into scenarios/README.md

RUN is the folder of a run of scenarios/atlas_day.yaml. Published figures: workload statistics, by section (WS), as in
scenarios/README.md. Simulated figures are of jobs that ended, and of samples taken, in the window of the run's figures.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import simgrid_broker as sb
from simgrid_broker.metrics.window import end_times, selected_jobs, wide, window_of
from simgrid_broker.records import JOB_END_TIMES, write_whole
from simgrid_broker.units import DAY, HOUR

README = Path(__file__).resolve().parents[1] / "scenarios" / "README.md"
BEGIN, END = "<!-- begin of what scripts/compare_with_published.py writes -->", "<!-- end of it -->"
QUARTILES, SPREAD = (25, 50, 75), (5, 25, 50, 75, 95)
ACTIVE = 1.0
"""Mean number of running jobs from which a queue counts as active."""
COLUMNS = ("processing_type", "queue", "status", "cause", "walltime_s", "cputime_s", "corecount", "maxpss_mb")


class Figures:
    """A run as the rows of the table ask for it.

    ended: jobs that finished or failed in the window, with lists of causes; queues: means over the samples of the
    window, of active queues; days: length of the window.
    """

    def __init__(self, run: sb.Run):
        self.run, self.window = run, window_of(run)
        self.days = self.window.length_s / DAY
        jobs = selected_jobs(run, [*COLUMNS, *JOB_END_TIMES], lambda rows: self.window.holds(end_times(rows)))
        self.ended = jobs[jobs.status.isin(["finished", "failed"])]
        self.finished, self.failed = (self.ended[self.ended.status == word] for word in ("finished", "failed"))
        samples = run.table("queues", ["time_s", "queue", "running", "running_cores", "activated", "assigned",
                                       "transferring"])
        means = samples[self.window.holds(samples.time_s)].groupby("queue", observed=True).mean()
        self.all_queues, self.queues = means, means[means.running >= ACTIVE]
        self.waits = wide(sb.metrics.waiting_times(run, by=None)).iloc[0]
        self.links = wide(sb.metrics.link_use(run))

    def of_type(self, kind: str) -> pd.DataFrame:
        """Finished jobs of one processing type."""
        return self.finished[self.finished.processing_type == kind]

    def failed_by_queue(self) -> pd.Series:
        """Failed part of the ended jobs of each active queue, %."""
        jobs = self.ended[self.ended.queue.isin(self.queues.index)]
        return 100 * (jobs.status == "failed").groupby(jobs.queue).mean()

    def queued_over_running(self) -> pd.Series:
        """Assigned and activated jobs over running ones, by active queue."""
        return (self.queues.assigned + self.queues.activated) / self.queues.running


class Row(NamedTuple):
    """A figure: what it is, its section, the published value, and the simulated one as text."""

    name: str
    section: str
    published: str
    simulated: Callable[[Figures], str]


def number(value: float) -> str:
    """A whole number with thousands separated."""
    return f"{round(value):,}".replace(",", " ") if np.isfinite(value) else "none"


def decimal(value: float, digits: int = 2) -> str:
    """A number with so many digits behind the point."""
    return f"{value:.{digits}f}" if np.isfinite(value) else "none"


def quantiles(values: pd.Series, at: Sequence[int], show: Callable[[float], str] = decimal) -> str:
    """Quantiles at some per cent, between slashes."""
    return " / ".join(show(value) for value in np.percentile(values, at)) if len(values) else "none"


def efficiency(jobs: pd.DataFrame) -> str:
    """CPU time of jobs over their wall time x cores."""
    core_s = (jobs.walltime_s * jobs.corecount).sum()
    return decimal(jobs.cputime_s.sum() / core_s) if core_s else "none"


def wall_time(kind: str, name: str, published: str) -> Row:
    """Quartiles of the wall time of finished jobs of a type, h."""
    return Row(f"wall time of {name}, h, quartiles", "5.1", published,
               lambda found: quantiles(found.of_type(kind).walltime_s / HOUR, QUARTILES))


def memory(kind: str, name: str, published: str) -> Row:
    """Quartiles of the memory of finished jobs of a type, GB per core."""
    def simulated(found: Figures) -> str:
        jobs = found.of_type(kind)
        return quantiles(jobs.maxpss_mb / jobs.corecount / 1000, QUARTILES)
    return Row(f"memory per core of {name}, GB, quartiles", "5.2", published, simulated)


def part_lost(found: Figures) -> str:
    """Wall time x cores of failed jobs, % of that of all, for the types with least and most."""
    spent = found.ended.walltime_s * found.ended.corecount
    lost = (spent * (found.ended.status == "failed")).groupby(found.ended.processing_type).sum()
    part = 100 * lost / spent.groupby(found.ended.processing_type).sum()
    return f"{decimal(part.min(), 0)} to {decimal(part.max(), 0)}" if len(part) else "none"


def caused_by(*causes: str) -> Callable[[Figures], str]:
    """Failed jobs with one of some causes, % of all that ended."""
    return lambda found: decimal(100 * found.failed.cause.isin(causes).sum() / max(len(found.ended), 1))


def largest(found: Figures) -> str:
    """Running jobs of the 20 largest queues, % of all."""
    running = found.all_queues.running
    return decimal(100 * running.nlargest(20).sum() / running.sum(), 0) if running.sum() else "none"


def queued_in_all(found: Figures) -> str:
    """Queued over running jobs of the whole grid."""
    means = found.all_queues
    return decimal((means.assigned + means.activated).sum() / means.running.sum())


def transferring_in_all(found: Figures) -> str:
    """Transferring over running jobs of the whole grid."""
    means = found.all_queues
    return decimal(means.transferring.sum() / means.running.sum())


def most_used(found: Figures, percent: int) -> float:
    """Bytes on so many per cent of the links, the busiest ones, % of all."""
    moved = found.links.moved.sort_values(ascending=False)
    return 100 * moved.head(max(1, round(len(moved) * percent / 100))).sum() / moved.sum() if len(moved) else np.nan


def failed_attempts(found: Figures) -> str:
    """Attempts at files that failed, % of all."""
    links = found.links[found.links.files > 0]
    failed = (links.files * links.failed / (100 - links.failed)).sum()
    return decimal(100 * failed / (links.files.sum() + failed), 1) if len(links) else "none"


LINK_TAGS = ("-links_full", "-link_unusable", "-lowNetworkWeight")
"""Tags of the rules of job brokerage that refuse a queue for its link to the nucleus."""


def refused_for_links(found: Figures) -> str:
    """Refusals of production brokerage due to links, % of all its refusals."""
    rows = sb.metrics.refusals(found.run)
    rows = rows[(rows.kind == "job_brokerage") & (rows.metric == "refusals") & (rows.tag != sb.metrics.USED)]
    return decimal(100 * rows.value[rows.tag.isin(LINK_TAGS)].sum() / rows.value.sum()) if len(rows) else "none"


ASSUMED = "assumed"
ROWS = (
    Row("cores in use", "1", "250 000 to 500 000 (2018)", lambda found: number(found.all_queues.running_cores.sum())),
    Row("running jobs", "2.2", "282 402 (2021)", lambda found: number(found.all_queues.running.sum())),
    Row("queues with running jobs", "2.2", "112 (2021)", lambda found: number(len(found.queues))),
    Row("jobs ended a day", "1", "2 000 000 (2018)", lambda found: number(len(found.ended) / found.days)),
    wall_time("simul", "simulation", "0.9 / 2.1 / 9.9"),
    wall_time("pile", "pile-up", "1.0 / 1.3 / 4.9"),
    wall_time("merge", "merging", "0.1 / 1.2 / 3.1"),
    wall_time("deriv", "derivation", "3.9 / 6.8 / 10.8"),
    wall_time("reprocessing", "reprocessing (2016: mean 5.35, WS 5.4)", "0.2 / 0.25 / 0.84"),
    wall_time("evgen", "event generation", "1.95 / 2.4 / 2.95"),
    wall_time("recon", "reconstruction", "0.2 / 0.37 / 0.63"),
    memory("simul", "simulation", "0.32 / 0.44 / 0.49"),
    memory("pile", "pile-up", "1.46 / 3.05 / 3.27"),
    memory("merge", "merging", "0.25 / 0.78 / 1.01"),
    memory("deriv", "derivation", "1.17 / 1.56 / 2.14"),
    memory("reprocessing", "reprocessing", "1.65 / 1.71 / 1.78"),
    memory("evgen", "event generation", "0.36 / 0.42 / 0.44"),
    memory("recon", "reconstruction", "2.25 / 2.37 / 3.10"),
    Row("failed, % of finished and failed", "2.2", "9.95 (2021)",
        lambda found: decimal(100 * len(found.failed) / max(len(found.ended), 1))),
    Row("failed by queue, %, 5 / 25 / 50 / 75 / 95 %", "2.2, 8", "0.8 / 2.7 / 5.3 / 13.1 / 38.1",
        lambda found: quantiles(found.failed_by_queue(), SPREAD, lambda value: decimal(value, 1))),
    Row("lost heartbeats, % of finished and failed", "13", ASSUMED, caused_by("lost_heartbeat")),
    Row("memory kills, % of finished and failed", "13", ASSUMED, caused_by("memory_exceeded")),
    Row("stage-out errors, % of finished and failed", "13", ASSUMED, caused_by("transfer_error")),
    Row("power lost to failed jobs, %, by step", "6.1", "5 to 28", part_lost),
    Row("CPU efficiency, finished jobs of reprocessing", "5.4", "0.625 (2016)",
        lambda found: efficiency(found.of_type("reprocessing"))),
    Row("CPU efficiency, finished jobs", "11", "0.73 to 0.91 (US, 2015-17)", lambda found: efficiency(found.finished)),
    Row("CPU efficiency, failed jobs", "5.4", "0.26 (2016)", lambda found: efficiency(found.failed)),
    Row("running jobs by queue, 5 / 25 / 50 / 75 / 95 %", "2.2", "5 / 209 / 897 / 2 329 / 6 622",
        lambda found: quantiles(found.queues.running, SPREAD, number)),
    Row("running jobs of the 20 largest queues, % of all", "2.2", "70", largest),
    Row("queued over running by queue, 5 / 50 / 95 %", "2.2", "0.025 / 0.35 / 1.7",
        lambda found: quantiles(found.queued_over_running(), (5, 50, 95))),
    Row("queued over running, whole grid", "2.2", "0.35", queued_in_all),
    Row("transferring over running, median of queues", "2.2", "0.10",
        lambda found: quantiles(found.queues.transferring / found.queues.running, (50,))),
    Row("transferring over running, whole grid", "2.2", "0.10", transferring_in_all),
    Row("refusals of production brokerage due to links, %", "13", "not published", refused_for_links),
    Row("traffic between sites, GB/s", "10.1", "16.8 to 17.2 (2019, all activities)",
        lambda found: decimal(found.links.rate.sum(), 1)),
    Row("files moved a day", "10.1", "1 870 000 to 1 900 000 (2019, all activities)",
        lambda found: number(found.links.files.sum() / found.days)),
    Row("size of a file moved, MB, mean", "10.1", "762 (2019)",
        lambda found: number(1e6 * found.links.moved.sum() / found.links.files.sum())),
    Row("links with traffic", "10.1", "8 349 of 14 280 (28 days of 2019)", lambda found: number(len(found.links))),
    Row("mean rate by link, MB/s, 25 / 50 / 75 %", "10.1", "0.025 / 0.32 / 1.5 (28 days of 2019)",
        lambda found: quantiles(1000 * found.links.rate, (25, 50, 75))),
    Row("mean rate by link, MB/s, 90 / 95 / 99 %", "10.1", "4.7 / 9.0 / 26 (28 days of 2019)",
        lambda found: quantiles(1000 * found.links.rate, (90, 95, 99), lambda value: decimal(value, 1))),
    Row("bytes on the busiest 1 % and 10 % of the links, %", "10.1", "23 and 69 (2019)",
        lambda found: " and ".join(decimal(most_used(found, part), 0) for part in (1, 10))),
    Row("failed attempts at files, %", "10.1", "7.2 to 11.7 (2019)", failed_attempts),
    Row("failed attempts by link, %, 50 / 75 / 95 %", "10.1", "3 / 11 / 54 (28 days of 2019)",
        lambda found: quantiles(found.links.failed.dropna(), (50, 75, 95), lambda value: decimal(value, 1))),
    Row("wait for a slot, h, median", "9", "0.15 to 3.4 (five tasks, 2018)",
        lambda found: decimal(found.waits.wait_km_p50)),
    Row("wait for a slot, h, 95 %", "9", "1.5 to 20 (five tasks, 2018)",
        lambda found: decimal(found.waits.wait_km_p95)),
)


def table(run: sb.Run) -> str:
    """The table of a run in Markdown, with a line that says which run it is."""
    found, manifest = Figures(run), run.manifest
    lines = ["| figure | WS | published | simulated |", "| --- | --- | --- | --- |"]
    lines += [f"| {row.name} | {row.section} | {row.published} | {row.simulated(found)} |" for row in ROWS]
    return "\n".join([f"A run of `{manifest['scenario']['name']}.yaml`, seed {manifest['seed']}; figures over "
                      f"{found.window}.", "", *lines])


def write(text: str, page: Path = README) -> None:
    """Replace what stands between the two markers of a page."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    write_whole(page, f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def main() -> None:
    """Print or write the table of the run that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN", help="folder of a run")
    parser.add_argument("--write", action="store_true", help="write the table into scenarios/README.md")
    arguments = parser.parse_args()
    text = table(sb.read_run(arguments.run))
    if arguments.write:
        write(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
