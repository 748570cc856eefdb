#!/usr/bin/env python3
"""Draw the pictures of README.md, docs/gallery.md and docs/stories from runs of the scenarios, and take those of
docs/control_room.md in an installed Chromium.

    scripts/draw_pictures.py                          simulate and draw all of them
    scripts/draw_pictures.py memory_retry             one of them
    scripts/draw_pictures.py flat_shares RUN RUN      from existing runs, in the order of the scenarios
"""

import math
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import installed_browser
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import simgrid_broker as sb
from simgrid_broker.experiments.intervals import student
from simgrid_broker.records import write_whole
from simgrid_broker.records.panda_records import write_panda_records
from simgrid_broker.report.blocks import Mark, Marks
from simgrid_broker.report.context import context
from simgrid_broker.report.drawing.layout import dress, for_file, gaps, handles_of, legend_above
from simgrid_broker.report.drawing.pictures import plots_of
from simgrid_broker.report.figures.series import overlaid
from simgrid_broker.report.sections import shares
from simgrid_broker.report.words import BASE, INK, RUN_COLOURS

ROOT = Path(__file__).resolve().parents[1]
Runs = Mapping[str, sb.Run]


class Picture(NamedTuple):
    """A picture: its scenarios by the names of the runs, and the function from runs to PNG."""

    scenarios: Callable[[], dict[str, sb.Scenario]]
    drawn: Callable[[Runs], bytes]


def scenario(name: str, **values) -> sb.Scenario:
    """A scenario of the project with changed values."""
    return sb.load_scenario(ROOT / "scenarios" / f"{name}.yaml").with_values(values)


def sample_times(run: sb.Run) -> np.ndarray:
    """Times of the samples, s."""
    return np.unique(run.table("shares", ["time_s"]).time_s)


def of_each(runs: Runs, figure: Callable[[sb.Run], pd.Series]) -> pd.DataFrame:
    """A figure over time, s, of each run as one long table: run, time_s, value."""
    return pd.concat([figure(run).rename("value").rename_axis("time_s").reset_index().assign(run=name)
                      for name, run in runs.items()], ignore_index=True)


def one_above_the_other(tables: list[tuple[pd.DataFrame, str]], marks: list[Marks], legend: int,
                        more: Callable[[np.ndarray], None] = lambda axes: None) -> bytes:
    """Two panels with a table of runs each, of which only one has the legend; more: what else the axes are given."""
    def draw(tables, axes):
        for panel, (table, label), mark in zip(axes, tables, marks, strict=True):
            overlaid(table[table.time_s >= mark.start_s], panel, label, mark)
        axes[0].set_xlabel("")
        gaps(axes, down=0.35)
        axes[1 - legend].get_legend().remove()
        more(axes)
    return for_file(draw, tables, (10, 5.6), (2, 1))


# ---- atlas_day_shares ----------------------------------------------------------------------------------------------

def stacked_shares(runs: Runs) -> bytes:
    """Delivered power by share over the ATLAS day, as the report shows it."""
    run, = runs.values()
    plot, *_ = plots_of([shares(context(run))])
    return for_file(plot.draw, plot.table, plot.size)


# ---- flat_shares ---------------------------------------------------------------------------------------------------

FLAT = ("MC16 evgen", "MC 16 simul")
"""Shares that are shown: one of single-core jobs, and a sibling of its parent with multi-core jobs."""


def part_of_power(run: sb.Run, share: str, metric: str = "delivered") -> pd.Series:
    """Part of all power in use that a share is given, or is entitled to ("target"), %, by time in s."""
    series = sb.metrics.share_series(run)
    return series[(series.share == share) & (series.metric == metric)].set_index("time_s").value


def flat_shares(runs: Runs) -> bytes:
    """What two shares are given of the power with shares in a tree and side by side."""
    first = next(iter(runs.values()))
    targets = [part_of_power(first, share, "target").iloc[-1] for share in FLAT]

    def lines(axes: np.ndarray) -> None:
        for panel, target in zip(axes, targets, strict=True):
            target_line(panel, target)
    mark = Marks(context(first).marks.start_s)
    return one_above_the_other([(of_each(runs, lambda run, share=share: part_of_power(run, share)),
                                 f"given to {share} (% of power)") for share in FLAT], [mark, mark], 0, lines)


def target_line(panel: Axes, target: float) -> None:
    """A broken line at a target, named."""
    panel.axhline(target, color=INK, linewidth=1, linestyle="--")
    panel.annotate("target", (0.995, target), xycoords=("axes fraction", "data"), fontsize=7.5, ha="right", va="bottom",
                   color=INK)


# ---- evgen_length --------------------------------------------------------------------------------------------------

LEAVES = ("MC16 evgen", "MC Other evgen")
"""The leaves of event generation."""
FACTORS = (1.95, 1.0, 0.5, 0.25)
"""Factors of the work of event generation; the jobs of the scenario take 7.0 h."""
TREES = {"in a tree": "saturated_day", "side by side": "flat_shares"}


def with_evgen_work(name: str, factor: float) -> sb.Scenario:
    """A scenario whose jobs of event generation have so many times their work; the load stays, with fewer jobs."""
    base = scenario(name, incidents=[])                    # with long queues
    return base.with_values({f"workload.campaigns.{campaign.name}.hs06sec_per_event.median":
                             campaign.hs06sec_per_event.median * factor
                             for campaign in base.workload.campaigns if is_evgen(campaign)})


def is_evgen(campaign) -> bool:
    """Whether the tasks of a campaign go to one of the leaves of event generation."""
    return campaign.processingtype == "evgen" and campaign.campaign.startswith("MC")


def job_length_h(run: sb.Run) -> float:
    """Mean wall time of a job of event generation by the figures of the scenario, h."""
    campaigns = [each for each in sb.Scenario.from_dict(run.manifest["scenario"]).workload.campaigns if is_evgen(each)]
    cores = sum(campaign.offered_cores for campaign in campaigns)
    return cores / sum(campaign.offered_cores / campaign.mean_job_core_s for campaign in campaigns) / 3600


def of_evgen(run: sb.Run, metric: str) -> float:
    """Part of all power that event generation was given, or was to be given, %."""
    table = sb.metrics.share_compliance(run)
    return table[table.share.isin(LEAVES) & (table.metric == metric)].value.sum()


def evgen_length(runs: Runs) -> bytes:
    """What event generation is given, by the length of its jobs, with shares in a tree and side by side."""
    def draw(runs, axes):
        dress(axes, "mean wall time of a job of event generation (h)", "given to event generation (% of power)")
        for tree, colour, style in zip(TREES, RUN_COLOURS, ("o-", "s--"), strict=True):
            own = sorted((job_length_h(run), of_evgen(run, "delivered")) for name, run in runs.items()
                         if name.startswith(tree))
            axes.plot(*zip(*own, strict=True), style, color=colour, linewidth=1.5, markersize=5, label=tree)
        axes.margins(x=0.1)
        axes.set_xlim(left=0)
        target_line(axes, of_evgen(next(iter(runs.values())), "target"))
        legend_above(axes, handles_of(axes))
    return for_file(draw, runs, (10, 3.6))


# ---- fast_rebrokerage ----------------------------------------------------------------------------------------------

THRESHOLD = "gdpconfig.FAST_REBRO_THRESHOLD_NQUEUE_Simulation"
QUEUE, SIMULATION = "LARGE", "Simulation"
SAID = (f"no more workers for {QUEUE}", "workers again")
"""What the two incidents of the scenario do."""


def waiting_at_queue(run: sb.Run) -> pd.Series:
    """Jobs of the share that wait at the queue, by time in s."""
    jobs = run.table("jobs", ["queue", "share", "activated_s", "running_s", "closed_s"])
    jobs = jobs[(jobs.queue == QUEUE) & (jobs.share == SIMULATION)]
    left, times = np.fmin(jobs.running_s, jobs.closed_s).fillna(np.inf), sample_times(run)
    return pd.Series([int(((jobs.activated_s <= time) & (left > time)).sum()) for time in times], times)


def delivered(run: sb.Run) -> pd.Series:
    """Power in use by the share, kHS06, by time in s."""
    shares = run.table("shares", ["time_s", "share", "hs06"])
    return shares[shares.share == SIMULATION].groupby("time_s").hs06.sum() / 1000


def fast_rebrokerage(runs: Runs) -> bytes:
    """Jobs behind a queue without workers, and the power that their share is given."""
    marks = context(next(iter(runs.values()))).marks
    moments = [mark.at_s for mark in marks.incidents]
    return one_above_the_other(
        [(of_each(runs, waiting_at_queue), f"{SIMULATION} jobs waiting at {QUEUE}"),
         (of_each(runs, delivered), f"given to {SIMULATION} (kHS06)")],
        [Marks(marks.start_s, tuple(map(Mark, moments, moments, words))) for words in (SAID, ("", ""))], 1)


# ---- memory_retry --------------------------------------------------------------------------------------------------

RECONSTRUCTION = "Reconstruction"


def ended(run: sb.Run, outcome: str) -> pd.Series:
    """Jobs of the share that have ended so, by time in s."""
    jobs = run.table("jobs", ["share", "status", "cause", "finished_s", "failed_s"])
    chosen = jobs[(jobs.share == RECONSTRUCTION) & ((jobs.status == outcome) | (jobs.cause == outcome))]
    moments, times = np.sort(np.fmax(chosen.finished_s, chosen.failed_s)), sample_times(run)
    return pd.Series(np.searchsorted(moments, times, side="right"), times)


def memory_retry(runs: Runs) -> bytes:
    """Jobs that were killed for their memory, and jobs that finished, in both editions."""
    return one_above_the_other(
        [(of_each(runs, lambda run: ended(run, "memory_exceeded")),
          f"{RECONSTRUCTION} jobs killed\nfor their memory so far"),
         (of_each(runs, lambda run: ended(run, "finished")), f"{RECONSTRUCTION} jobs\nfinished so far")],
        [Marks(), Marks()], 0)


# ---- unified_queue -------------------------------------------------------------------------------------------------

WAYS = {"pilot streaming": "pull_ups", "push": "push"}


def cores_of_type(run: sb.Run, kind: str) -> pd.Series:
    """Cores of running jobs of a resource type, by time in s."""
    shares = run.table("shares", ["time_s", "resource_type", "running_cores"])
    return shares[shares.resource_type == kind].groupby("time_s").running_cores.sum()


def unified_queue(runs: Runs) -> bytes:
    """Running cores of a unified queue by the cores of their jobs, as in Figure 5 of the Global Shares paper."""
    marks = context(next(iter(runs.values()))).marks
    moments = sorted({mark.at_s for mark in marks.incidents})
    return one_above_the_other(
        [(of_each(runs, lambda run: cores_of_type(run, "SCORE")), "cores of single-core jobs"),
         (of_each(runs, lambda run: cores_of_type(run, "MCORE")), "cores of eight-core jobs")],
        [Marks(marks.start_s, tuple(map(Mark, moments, moments, words)))
         for words in (("event generation is boosted", "as before"), ("", ""))], 1)


# ---- dispatch ------------------------------------------------------------------------------------------------------

DISPATCHERS = {"PanDA": "dispatch_panda", "DIRAC": "dispatch_dirac"}
COLOURS = (*RUN_COLOURS, "#009E73")
"""Colours of two or three runs."""
WIDTH = 0.36
"""Width of a bar; the shares are 1 apart."""


def of_shares(metrics: pd.DataFrame, metric: str) -> pd.Series:
    """A figure of each leaf share, by its name."""
    return metrics[metrics.metric == metric].set_index("share").value.drop("root", errors="ignore")


def bars(axes: Axes, tables: Mapping[str, pd.Series], label: str, inside: bool = False, width: float = WIDTH,
         above: float = 0) -> None:
    """A bar for each run and share, the runs side by side, with their values above or inside the bars."""
    dress(axes, "", label)
    for number, (name, table) in enumerate(tables.items()):
        places = np.arange(len(table)) + (number - (len(tables) - 1) / 2) * width
        drawn = axes.bar(places, table, width, color=COLOURS[number], label=name)
        axes.bar_label(drawn, fmt="%.1f", fontsize=7.5, color="white" if inside else INK,
                       label_type="center" if inside else "edge", padding=above)
    axes.set_xticks(np.arange(len(table)), table.index)
    axes.margins(y=0.15)


def dispatch(runs: Runs) -> bytes:
    """What each share is given of the power, beside its target, and how long its jobs wait."""
    def draw(runs, axes):
        compliance = {name: sb.metrics.share_compliance(run) for name, run in runs.items()}
        given = {name: of_shares(table, "delivered") for name, table in compliance.items()}
        targets = of_shares(next(iter(compliance.values())), "target")
        waits = {name: of_shares(sb.metrics.waiting_times(run), "wait_km_p50")[targets.index]
                 for name, run in runs.items()}
        bars(axes[0], given, "given to the share (% of power)", inside=True)
        axes[0].hlines(targets, np.arange(len(targets)) - WIDTH, np.arange(len(targets)) + WIDTH, color=INK,
                       linewidth=1, linestyle="--", label="target")
        bars(axes[1], waits, "median time from activation to start (h)", inside=True)
        legend_above(axes[0], handles_of(axes[0]))
    return for_file(draw, runs, (10, 3.6), (1, 2))


# ---- greedy_user ---------------------------------------------------------------------------------------------------

GREEDY = "greedy-0001"
OFF: dict[str, dict[str, object]] = {
    "caps": {"gdpconfig.CAP_RUNNING_USER_JOBS": 0, "gdpconfig.CAP_RUNNING_USER_CORES": 0},
    "stabilizer": {"gdpconfig.BASE_QUEUE_LENGTH_PER_PQ": 10**6},
    "classes": {"gdpconfig.USER_USAGE_THRESHOLD_A": 10**6, "gdpconfig.USER_USAGE_THRESHOLD_B": 10**6}}
"""What turns each of the mechanisms off that hold users back."""


def with_only(*kept: str) -> sb.Scenario:
    """The scenario with some of these mechanisms."""
    return scenario("greedy_user", **{key: value for name, settings in OFF.items() if name not in kept
                                      for key, value in settings.items()})


def task_hours(run: sb.Run) -> float:
    """Median time from submission to end of the tasks of all other users that have ended, h."""
    tasks = run.table("tasks", ["user", "arrival_s", "done_s", "finished_s"])
    tasks = tasks[tasks.user != GREEDY]
    return float((np.fmax(tasks.done_s, tasks.finished_s) - tasks.arrival_s).median() / 3600)


def greedy_user(runs: Runs) -> bytes:
    """Cores of one user and of all others, and how long the tasks of the others take, by what holds users back."""
    def draw(runs, axes):
        cores = {name: sb.metrics.wide(sb.metrics.users(run)).set_index("user").cores for name, run in runs.items()}
        bars(axes[0], {"sixty others": pd.Series({name: one.drop(GREEDY).sum() for name, one in cores.items()}),
                       "greedy user": pd.Series({name: one[GREEDY] for name, one in cores.items()})},
             "mean running cores")
        bars(axes[1], {"sixty others": pd.Series({name: task_hours(run) for name, run in runs.items()})},
             "median time to the end of a task (h)")
        legend_above(axes[0], handles_of(axes[0]))
    return for_file(draw, runs, (10, 3.6), (1, 2))


# ---- preemptible ---------------------------------------------------------------------------------------------------

LIVES_H = (1, 2, 4, 8, 16)
"""Mean lives of a slot, h; 4 in the scenario."""
SEEDS = range(1, 6)
WORK = {"event service": (100, 0.05, 1 / 6), "ordinary": (1, 5 + 1 / 6, 0.0)}
"""Units after each of which work is kept, by kind of work: their number in an input, the wall time of each and the time
before the first in each job, h."""


def with_slot_life(life_h: float, seed: int) -> sb.Scenario:
    """The scenario with another mean life of the slots that are taken away."""
    return scenario("preemptible", seed=seed, **{
        f"grid.queues.{queue}.eviction_rate": 1 / life_h for queue in ("CLOUD", "DESKTOPS")})


def kept(run: sb.Run, work: str) -> float:
    """Wall time of jobs of one kind at both queues that is kept, %."""
    table = sb.metrics.kept_where_slots_end(run)
    table = table[table.work == work]
    return float(100 * table.kept_h.sum() / table.walltime_h.sum())


def expected(n: int, unit_h: float, before_h: float, life_h: float) -> float:
    """Wall time kept in the mean, %, where each slot has an exponential life and an input needs `n` units in a row."""
    wall_h = np.zeros(n + 1)
    for left in range(1, n + 1):
        reached = np.exp(-(before_h + unit_h * np.arange(1, left + 1)) / life_h)
        again = -np.diff(reached) @ wall_h[left - 1:0:-1]
        wall_h[left] = (life_h * (1 - reached[-1]) + again) / reached[0]
    return 100 * n * unit_h / wall_h[n]


def preemptible(runs: Runs) -> bytes:
    """Wall time kept against the mean life of a slot: means of five seeds with intervals, and what is expected."""
    def draw(runs, axes):
        dress(axes, "mean life of a slot (h)", "wall time kept (%)")
        lives = np.geomspace(LIVES_H[0], LIVES_H[-1])
        for (work, units), colour, mark in zip(WORK.items(), RUN_COLOURS, "os", strict=True):
            found = [student([kept(runs[f"{life} h, seed {seed}"], work) for seed in SEEDS]) for life in LIVES_H]
            axes.errorbar(LIVES_H, [one.value for one in found], [one.value - one.low for one in found], color=colour,
                          marker=mark, markersize=5, linestyle="", capsize=4, label=work)
            axes.plot(lives, [expected(*units, life) for life in lives], color=colour, linewidth=1, linestyle="--")
        axes.set_xscale("log")
        axes.set_xticks(LIVES_H, map(str, LIVES_H))
        axes.minorticks_off()
        axes.set_ylim(0, 100)
        legend_above(axes, handles_of(axes))
    return for_file(draw, runs, (10, 3.6))


# ---- jumbo ---------------------------------------------------------------------------------------------------------

HPC = ("PLAIN", "SUMMIT")
"""Queues of jumbo jobs."""


def kind_of_job(jobs: pd.DataFrame, is_merge: pd.Series) -> np.ndarray:
    """Kinds of jobs of a task with jumbo jobs, those of jumbo jobs by queue; is_merge: or a jumbo job."""
    queue = jobs.queue.astype(str)
    return np.where(~is_merge, "co-jumbo jobs", np.where(queue.isin(HPC), "jumbo jobs at " + queue, "merge jobs"))


def cores_by_kind(run: sb.Run, times: np.ndarray) -> dict[str, np.ndarray]:
    """Cores of running jobs at some times, s, by kind."""
    jobs = run.table("jobs", ["queue", "n_chunks", "corecount", "running_s", "walltime_s"])
    jobs = jobs[jobs.walltime_s > 0].assign(kind=lambda rows: kind_of_job(rows, rows.n_chunks == 0))
    return {kind: sum(((one.running_s <= times) & (times < one.running_s + one.walltime_s)) * one.corecount
                      for one in own.itertuples()) for kind, own in jobs.groupby("kind")}


def events_by_kind(run: sb.Run, hours: np.ndarray) -> dict[str, np.ndarray]:
    """Events that jobs of a kind had processed, or merged, when they ended, up to some full hours."""
    ended = run.table("event_service", ["time_s", "kind", "queue", "jobs", "events"])
    ended["events"] = ended.events.where(ended.kind != "merge", ended.jobs * 1000)
    ended["kind"] = kind_of_job(ended, ended.kind.isin(["jumbo", "merge"]))
    return {kind: np.array([own.events[own.time_s < hour * 3600].sum() for hour in hours])
            for kind, own in ended.groupby("kind")}


def jumbo(runs: Runs) -> bytes:
    """Life of a task with jumbo jobs: cores by kind of job, and events that each kind has processed or merged."""
    run, = runs.values()
    hours = np.arange(run.tasks.done_s.max() // 3600 + 2)
    times = np.arange(0, 3600 * hours[-1], 120.0)

    def draw(_, axes):
        cores, events = cores_by_kind(run, times), events_by_kind(run, hours)
        colours = dict(zip(cores, BASE, strict=False))
        dress(axes[0], "", "running cores")
        dress(axes[1], "time (h)", "events of ended jobs so far")
        axes[0].stackplot(times / 3600, [*cores.values()], colors=[*colours.values()], linewidth=0)
        for kind, colour in colours.items():
            axes[1].plot(hours, events[kind], color=colour, linewidth=1.5, label=kind)
        gaps(axes, down=0.35)
        legend_above(axes[0], handles_of(axes[1]))
    return for_file(draw, None, (10, 5.6), (2, 1))


# ---- stories -------------------------------------------------------------------------------------------------------

SIBLINGS = {"Event generation": 120, "Simulation": 280, "Derivations": 400}
"""Cores that are the targets of the shares of siblings.yaml."""


def with_workers(of: str) -> sb.Scenario:
    """Siblings with workers as they are, of pull mode, or with a partition for jobs of one core."""
    changed: dict[str, dict[str, object]] = {
        "pilot streaming": {}, "pull": {f"grid.queues.{name}.workflow": "pull" for name in ("EAST", "WEST")},
        "partition": {"grid.sites.EAST.partitions": {"SCORE": 72}, "grid.sites.WEST.partitions": {"SCORE": 48}}}
    return scenario("siblings", **changed[of])


def evgen_is_late(runs: Runs) -> bytes:
    """Mean cores of each share by the way in which workers come to the queues, beside the targets."""
    def draw(runs, axes):
        cores = {name: of_shares(sb.metrics.share_cores(run), "cores")[list(SIBLINGS)] for name, run in runs.items()}
        bars(axes, cores, "mean running cores", width=0.26, above=6)
        axes.hlines(list(SIBLINGS.values()), np.arange(3) - 0.4, np.arange(3) + 0.4, color=INK, linewidth=1,
                    linestyle="--", label="target")
        legend_above(axes, handles_of(axes))
    return for_file(draw, runs, (10, 3.6))


NUCLEI: dict[str, dict[str, object]] = {
    "one nucleus": {}, "two nuclei": {"grid.sites.SOUTH.nucleus": True}}


def of_queue(run: sb.Run, queue: str, column: str) -> pd.Series:
    """A figure of a queue, by time in s."""
    rows = run.table("queues", ["time_s", "queue", column])
    return rows[rows.queue == queue].groupby("time_s")[column].sum()


def new_nucleus(runs: Runs) -> bytes:
    """Running cores of the satellite, and jobs of all queues whose output waits."""
    mark = Marks(context(next(iter(runs.values()))).marks.start_s)
    return one_above_the_other(
        [(of_each(runs, lambda run: of_queue(run, "SOUTH", "running_cores")), "running cores at SOUTH"),
         (of_each(runs, lambda run: sum(of_queue(run, name, "transferring") for name in ("NORTH", "SOUTH", "WEST"))),
          "jobs whose output waits")], [mark, mark], 0)


def my_queue_is_empty(runs: Runs) -> bytes:
    """Decisions about one share at one queue by the rule that refused it, in intervals of two hours."""
    def draw(run, axes):
        rows = run.table("refusals", ["time_s", "share", "candidate", "tag", "queue_count"])
        rows = rows[(rows.share == "MC root") & (rows.candidate == "T3-UK-01_UCORE")]
        rows = rows.assign(bin=(rows.time_s / 7200).apply(math.ceil) - 1, tag=rows.tag.astype(object).fillna("used"))
        table = rows.pivot_table(index="bin", columns="tag", values="queue_count", aggfunc="sum", fill_value=0)
        table = table.loc[:, table.sum() > 0]
        dress(axes, "time (h)", "decisions about MC root")
        axes.set_xticks(range(0, 25, 4))
        axes.yaxis.get_major_locator().set_params(integer=True)
        below = np.zeros(len(table))
        for (tag, counts), colour in zip(table.items(), BASE, strict=False):
            axes.bar(2 * table.index + 1, counts, 1.7, below, color=colour, label=tag)
            below += counts.to_numpy()
        legend_above(axes, handles_of(axes))
    return for_file(draw, next(iter(runs.values())), (10, 3.2))


def calibrated_powers(runs: Runs) -> bytes:
    """Powers of queues fitted to the records of a day, with intervals, and those with which it was simulated."""
    run, = runs.values()
    queues = run.manifest["scenario"]["grid"]["queues"]
    guess = scenario("quickstart").with_values({f"grid.queues.{name}.corepower": 10 for name in queues})
    with tempfile.TemporaryDirectory() as folder:
        jobs = write_panda_records(run, Path(folder) / "jobs.csv").drop(columns="hs06")
        jobs["cpuconsumptiontime"] *= 1 + 0.05 * np.random.default_rng(1).standard_normal(len(jobs))
        jobs.to_csv(Path(folder) / "jobs.csv", index=False)
        fitted = sb.calibrate(guess, Path(folder) / "jobs.csv").parameters
    fitted = fitted[fitted.parameter == "corepower"]

    def draw(fitted, axes):
        dress(axes, "", "HS06 per core")
        places = np.arange(len(fitted))
        axes.errorbar(places, fitted.after, [fitted.after - fitted.low, fitted.high - fitted.after], linestyle="",
                      marker="o", markersize=5, capsize=4, color=RUN_COLOURS[0], label="fitted, 95 %")
        axes.plot(places, [queues[name]["corepower"] for name in fitted.name], "x", color=RUN_COLOURS[1],
                  markersize=8, label="of the day that made the records")
        axes.axhline(10, color=INK, linewidth=1, linestyle="--", label="of the scenario")
        axes.set_xticks(places, [name.removesuffix("_UCORE") for name in fitted.name])
        legend_above(axes, handles_of(axes))
    return for_file(draw, fitted, (10, 3.6))


CAPS = (50, 100, 150, 200, 250, 300)
"""Caps of running jobs of Production."""


def with_cap(cap: int, seed: int) -> sb.Scenario:
    """The small grid with jobs of one core and more work than cores, under a cap of running jobs."""
    return scenario("minimal", seed=seed, **{
        "workload.campaigns.simulation.corecount": 1, "workload.campaigns.simulation.events_per_job": 12,
        "workload.campaigns.simulation.offered_cores": 500, "workload.users.analysis.offered_cores": 200,
        "gdpconfig.NRUNNINGCAP_Production": cap})


def which_key(runs: Runs) -> bytes:
    """Cores of both shares against the cap of running jobs of one: means of three seeds with intervals."""
    def draw(runs, axes):
        dress(axes, "NRUNNINGCAP_Production (jobs)", "mean running cores")
        for share, colour, target in zip(("Production", "Analysis"), RUN_COLOURS, (256, 64), strict=True):
            found = [student([of_shares(sb.metrics.share_cores(runs[f"{cap}, seed {seed}"]), "cores")[share]
                              for seed in (1, 2, 3)]) for cap in CAPS]
            axes.errorbar(CAPS, [one.value for one in found], [one.value - one.low for one in found], color=colour,
                          marker="o", markersize=5, capsize=4, linewidth=1.2, label=share)
            axes.axhline(target, color=colour, linewidth=1, linestyle="--")
        axes.set_ylim(0)
        legend_above(axes, handles_of(axes))
    return for_file(draw, runs, (10, 3.6))


# ---- control_room --------------------------------------------------------------------------------------------------

LONGEST_MS = 900_000
"""Longest wait for a job of the control room on a busy machine, ms."""


def taken(acts: Callable[[Any, Path], None], height: int) -> bytes:
    """A page of a new control room, after acts on its tab and its folder of results."""
    with tempfile.TemporaryDirectory() as folder, installed_browser.launched() as chromium:
        server = subprocess.Popen([sys.executable, "-m", "simgrid_broker", "serve", "results", "--port", "18470"],
                                  cwd=folder, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            first = next(found for line in server.stdout if (found := re.search(r"http://\S+", line)))
            tab = chromium.new_page(viewport={"width": 1100, "height": height}, base_url=first[0].partition("/?")[0])
            tab.set_default_timeout(LONGEST_MS)
            tab.goto(first[0])
            acts(tab, Path(folder) / "results")
            return tab.screenshot()
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()


def started(tab: Any, scenario: str, until: str, **fields: str) -> None:
    """Start a run of a scenario of the package, or a study of the `kind` in the fields."""
    tab.goto("/start?" + "&".join(f"{name}={value}" for name, value in dict(
        fields, scenario=f"scenarios/{scenario}.yaml", until=until).items()))
    tab.get_by_role("button", name="Start").click()


def done(tab: Any) -> None:
    """Wait until the job of a page is done."""
    tab.locator("p.lead", has_text=re.compile("^done$")).wait_for()


def listed(tab: Any, results: Path) -> None:
    """The list of runs, of which one is laid over another, one is damaged and one under way; and a study."""
    for settings in ("", "gdpconfig.NRUNNINGCAP_Derivations%3D60"):
        started(tab, "quickstart", "6h", settings=settings)
        done(tab)
    tab.goto("/run/results/quickstart/seed-1-2")
    tab.get_by_label("Base").select_option("results/quickstart/seed-1")
    tab.get_by_role("button", name="Overlay").click()
    done(tab)
    started(tab, "minimal", "4h", kind="replicate", seeds="3")
    done(tab)
    (results / "broken" / "seed-1").mkdir(parents=True)
    (results / "broken" / "seed-1" / "manifest.json").write_text("{")
    started(tab, "quickstart", "10d")
    tab.goto("/")
    tab.get_by_text(re.compile(r"^\d+ d.* of 10 d, ")).wait_for()
    tab.reload()


def under_way(tab: Any, results: Path) -> None:
    """The page of a run of the ATLAS day under way."""
    started(tab, "atlas_day", "")
    tab.get_by_text(re.compile(r"^[1-9][\d.]* h of")).wait_for()


def a_draft(tab: Any, results: Path) -> None:
    """The editor with keys of gdpconfig that a search names, of which one has no effect."""
    tab.goto("/scenarios")
    tab.get_by_label("Name").fill("my_day")
    tab.get_by_label("On top of").select_option("scenarios/atlas_day.yaml")
    tab.get_by_role("button", name="Begin").click()
    tab.goto("/edit/results/scenarios/my_day/my_day.yaml?part=gdpconfig&search=user_tasks")
    tab.get_by_label(re.compile("USER_TASKS_MESSAGE_DRIVEN_PERCENT")).fill("5")
    tab.get_by_role("button", name="Apply the changes").click()
    tab.get_by_text("unsaved draft").wait_for()


PICTURES = {
    "atlas_day_shares": Picture(lambda: {"as it is": scenario("atlas_day")}, stacked_shares),
    "flat_shares": Picture(lambda: {tree: scenario(name, incidents=[]) for tree, name in TREES.items()},
                           flat_shares),
    "evgen_length": Picture(lambda: {f"{tree}, work x {factor}": with_evgen_work(name, factor)
                                     for tree, name in TREES.items() for factor in FACTORS}, evgen_length),
    "fast_rebrokerage": Picture(lambda: {"with fast rebrokerage": scenario("fast_rebrokerage"),
                                         "without": scenario("fast_rebrokerage", **{THRESHOLD: None})},
                                 fast_rebrokerage),
    "memory_retry": Picture(lambda: {edition: scenario("memory_retry", edition=edition)
                                     for edition in ("documented", "deployed")}, memory_retry),
    "unified_queue": Picture(lambda: {way: scenario("unified_queue_evgen_boost", **{"grid.queues.CERN.workflow": flow})
                                      for way, flow in WAYS.items()}, unified_queue),
    "greedy_user": Picture(lambda: {"none": with_only(), **{name: with_only(name) for name in OFF},
                                    "all": scenario("greedy_user")}, greedy_user),
    "dispatch": Picture(lambda: {name: scenario(file) for name, file in DISPATCHERS.items()}, dispatch),
    "preemptible": Picture(lambda: {f"{life} h, seed {seed}": with_slot_life(life, seed)
                                    for life in LIVES_H for seed in SEEDS}, preemptible),
    "jumbo": Picture(lambda: {"as it is": scenario("jumbo")}, jumbo),
    "evgen_is_late": Picture(lambda: {name: with_workers(name) for name in ("pilot streaming", "pull", "partition")},
                             evgen_is_late),
    "new_nucleus": Picture(lambda: {name: scenario("new_nucleus", **changed) for name, changed in NUCLEI.items()},
                           new_nucleus),
    "my_queue_is_empty": Picture(lambda: {"as it is": scenario("quickstart")}, my_queue_is_empty),
    "calibrated_powers": Picture(lambda: {"as it is": scenario("quickstart")}, calibrated_powers),
    "which_key": Picture(lambda: {f"{cap}, seed {seed}": with_cap(cap, seed) for cap in CAPS for seed in (1, 2, 3)},
                         which_key),
    "control_room_list": Picture(dict, lambda runs: taken(listed, 500)),
    "control_room_job": Picture(dict, lambda runs: taken(under_way, 620)),
    "control_room_edit": Picture(dict, lambda runs: taken(a_draft, 960)),
}
"""The pictures by the names of their files in docs/img."""


def draw(name: str, of_runs: list[str]) -> Path:
    """Draw a picture from the runs in some folders, or without any from runs that are made for it."""
    picture = PICTURES[name]
    scenarios = picture.scenarios()
    if of_runs and len(of_runs) != len(scenarios):
        raise SystemExit(f"{name} shows {len(scenarios)} runs ({', '.join(scenarios)}), not {len(of_runs)}")
    with tempfile.TemporaryDirectory() as results:
        runs = ({run: sb.read_run(path) for run, path in zip(scenarios, of_runs, strict=True)} if of_runs else
                {run: sb.simulate(one, out=Path(results) / run) for run, one in scenarios.items()})
        return write_whole(ROOT / "docs" / "img" / f"{name}.png", picture.drawn(runs))


def main(arguments: list[str]) -> None:
    """Draw the picture that is named, or all."""
    unknown = [name for name in arguments[:1] if name not in PICTURES]
    if unknown:
        raise SystemExit(f"no picture {unknown[0]}; there are {', '.join(PICTURES)}")
    for name in arguments[:1] or PICTURES:
        print(draw(name, arguments[1:]))


if __name__ == "__main__":
    main(sys.argv[1:])
