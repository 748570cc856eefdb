"""The report of one run: its sections, in order, written as report.html and plots/ in the run's folder."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.errors import InputFileError
from simgrid_broker.metrics import wide
from simgrid_broker.metrics.chain_words import limits
from simgrid_broker.metrics.passes import FOR_REPORT
from simgrid_broker.metrics.window import read_jobs
from simgrid_broker.records import Run, as_run, of_run, write_whole
from simgrid_broker.report.answers import answers, decided
from simgrid_broker.report.blocks import (
    REPORT,
    Block,
    Note,
    Plot,
    Section,
    TableBlock,
    drawn_by,
    plot_or_note,
    table_or_note,
)
from simgrid_broker.report.context import Context, context
from simgrid_broker.report.drawing.pictures import plots_of, save_plots
from simgrid_broker.report.life import attempts, progress, replay, users
from simgrid_broker.report.links import link_blocks, staging_blocks
from simgrid_broker.report.overview import configuration
from simgrid_broker.report.page import page
from simgrid_broker.report.words import STATE_COLOURS, STATUS_COLOURS, spoken, texts_of_python

MOST_PANELS, PANEL_COLUMNS = 24, 4
MOST_ROWS = 20
MOST_WORKERS = 200
MOST_STORAGES, STORAGE_COLUMNS = 6, 3
LEAST_PERCENT = 2.0
"""Smallest span of an axis of used storage, %."""


def shares(view: Context) -> Section:
    """Delivered against target power: stacked, by share, and by level of the tree."""
    table = view.over_time(metrics.share_series(view.run))
    leaves = table[table.node.isin(view.tree.leaves) & table.metric.isin(["delivered", "target", "activated"])]
    compliance = metrics.share_compliance(view.run)
    shown = _largest(compliance, view)
    n_rows = -(-len(shown) // PANEL_COLUMNS)
    nothing = "there is no sample with running jobs."
    n_leaves = len(view.tree.leaves)
    left_out = f" The {len(shown)} largest of {n_leaves} shares." if len(shown) < n_leaves else ""
    return Section("shares", "Global shares", (
        plot_or_note(Plot(
            "shares_stacked", "Delivered power by share", leaves[leaves.metric != "activated"],
            drawn_by("shares.delivered_stack", groups=view.groups, marks=view.marks),
            "Layers: fraction of all power in use delivered to each leaf share; column at the right: targets in the "
            "same order, so equal thickness means compliance.",
            (10, max(5.4, 0.17 * n_leaves))), nothing, "delivered"),
        plot_or_note(Plot(
            "shares_panels", "Delivered against target, share by share", leaves[leaves.share.isin(shown)],
            drawn_by("shares.share_panels", shares=shown, groups=view.groups, marks=view.marks),
            "Coloured: delivered power; dashed: target; grey: no work was waiting, so the share could not use more."
            + left_out, (10, 0.4 + 1.45 * n_rows), (n_rows, PANEL_COLUMNS)), nothing, "delivered"),
        plot_or_note(Plot(
            "shares_tree", "Compliance at every level of the tree", compliance,
            drawn_by("shares.compliance_tree"),
            "A dot in the grey band is a share within 10 % of its target, shown on the left as a bar ending near its "
            "black mark; shares are indented below their parents. The columns give the mean absolute deviation of "
            "delivered power from what the share was due, and the % of samples within 10 % of it, both where its "
            "tasks had work that did not run.",
            (10, 1.3 + 0.245 * len(view.tree.names)), (1, 2)), nothing, "delivered"),
        _compliance_table(view.run, compliance)))


def _largest(compliance: pd.DataFrame, view: Context) -> list[str]:
    """The leaves with the largest targets, in the order of the tree."""
    rows = wide(compliance, "target")
    rows = rows[rows.node.isin(view.tree.leaves)].sort_values("target", ascending=False, kind="stable")
    kept = set(rows.share.head(MOST_PANELS))
    return [name for name in view.tree.leaf_names if name in kept]


def _compliance_table(run: Run, compliance: pd.DataFrame) -> Block:
    rows = wide(compliance)
    if not rows.samples.any():
        return Note("There is no sample in the window, so there are no compliance figures.")
    short = limits(run)
    rows["limit"] = [short.get(name, "") for name in rows.share]
    rows["difference"] = rows.delivered - rows.due
    frame = rows[["share", "target", "due", "delivered", "difference", "deviation", "near", "judged", "waiting",
                  "limit"]]
    return TableBlock(
        "Compliance figures", frame.astype({"share": object}),
        f"Over {int(rows.samples.iloc[0])} samples, {compliance.window.iloc[0]}. Work is waiting while the share has "
        "activated jobs. What a share is due is its target with what shares without enough work leave, to siblings "
        "first; it is judged by that in the samples in which its tasks had work that did not run, in jobs or not yet, "
        "whatever kept it. A share that received less than 90 % of its target is limited by the first link, from the "
        "tasks that arrived to the running jobs, that is narrower than what its tasks could have used of it, in the "
        "hours that cost it most.", tuple(rows.level), anchor="share")


def cores(view: Context) -> Section:
    """Running cores by share, by site and by resource type, and what workers did with their slots."""
    capacity = metrics.core_capacity(view.run)
    about: dict[str, tuple[str, Callable]] = {
        "share": ("Running cores by share", partial(drawn_by, "shares.running_cores", groups=view.groups)),
        "site": ("Running cores by site", partial(drawn_by, "series.stacked", by="site", most=12)),
        "resource_type": ("Running cores by resource type", partial(drawn_by, "series.stacked", by="resource_type"))}
    blocks = [plot_or_note(Plot(
        f"cores_by_{by}", title, view.over_time(metrics.running_cores(view.run, by)),
        draw(ylabel="running cores", marks=view.marks, capacity=capacity),
        "Layers: cores of running jobs; dashed line: all cores of the scenario's batch systems."),
        "there is no sample.") for by, (title, draw) in about.items()]
    return Section("cores", "Running cores", (*blocks, worker_table(view.run)))


def jobs(view: Context) -> Section:
    """Queued and running jobs over time, and the rate at which jobs end."""
    rates = view.over_time(metrics.throughput(view.run))
    return Section("jobs", "Jobs over time", (
        plot_or_note(Plot(
            "jobs_over_time", "Queued and running jobs", view.over_time(metrics.jobs_over_time(view.run)),
            drawn_by("series.stacked", by="state", ylabel="jobs", marks=view.marks, colours=STATE_COLOURS),
            "Jobs of the whole grid by state; other queued: defined or starting. A growing activated layer means that "
            "work arrives faster than slots become free."), "there is no sample."),
        plot_or_note(Plot(
            "throughput", "Jobs that ended", rates[rates.value > 0] if not rates.value.any() else rates,
            drawn_by("series.stacked_rates", by="status", ylabel="jobs per hour", colours=STATUS_COLOURS,
                    marks=view.marks),
            "Rate at which attempts ended in each time bin, by final status.", (10, 3.4)),
            "no job ended.")))


def waiting(view: Context) -> Section:
    """Waiting times by share, with jobs still waiting or withdrawn; of a replay, recorded and simulated ones."""
    table = metrics.waiting_times(view.run)
    started = wide(table, "started")
    shown = table[table.share.isin(started.share[started.started > 0])]
    frame = wide(table) if len(table) else pd.DataFrame()
    blocks: list[Block] = [plot_or_note(Plot(
        "waiting", "Waiting time by share", shown, drawn_by("bars.waiting_boxes"),
        "From activated to running, for jobs that started in the window: line 5 to 95 %, box 25 to 75 %, mark median; "
        "the time axis is logarithmic above one minute. Jobs still waiting at the end, or withdrawn before start, are "
        "not in the boxes; their numbers are at the right.",
        (10, 1.4 + 0.26 * max(len(started), 1))), "no job started to run in the window.")]
    if len(frame):
        blocks.append(TableBlock(
            "Waiting time figures", frame, "Kaplan-Meier: quantiles of the waiting time that also count the jobs that "
            "still wait at the end, were withdrawn, or were waiting when the window began; a dash is a quantile that "
            "too few jobs have reached. Waiting / start rate: mean number of activated jobs over the rate at which "
            "jobs start, the mean waiting time by Little's law.", anchor="wait"))
    return Section("waiting", "Waiting times", (*blocks, *replay(view)))


def brokerage(view: Context) -> Section:
    """Which candidates the brokers refused, and by which rule."""
    table = metrics.with_labels(view.run, metrics.refusals(view.run))
    kinds = [kind for kind in metrics.ABOUT_QUEUES if kind == metrics.JOB_BROKERAGE or (table.kind == kind).any()]
    blocks: list[Block] = [block for kind in kinds for block in (_funnel(view, kind), _lost(view, kind))]
    blocks += [_refused("refusals_task_brokerage", "Task brokerage: sites refused most often",
                        table[table.kind == "task_brokerage"], "refusals in the window",
                        "Refusals of each site by the first rule that refused it (PanDA's log tag)."),
               *(_rates(view, kind) for kind in kinds)]
    reasons = table.groupby(["kind", "rule"]).value.sum().rename("refusals").reset_index()
    if len(reasons):
        reasons = reasons.sort_values(["refusals", "rule"], ascending=[False, True]).head(MOST_ROWS)
        blocks.append(TableBlock("Refusals by rule, all candidates", _in_words(view, reasons)))
    made = wide(metrics.decisions(view.run)) if len(metrics.decisions(view.run)) else pd.DataFrame()
    if len(made):
        blocks.append(TableBlock("Recorded decisions", made.assign(kind=made.kind.map(spoken))))
    return Section("brokerage", "Brokerage refusals", (*blocks, *decided(view.run)))


def _refused(name: str, title: str, table: pd.DataFrame, xlabel: str, reading: str) -> Block:
    return plot_or_note(Plot(
        name, title, table, drawn_by("bars.stacked_bars", rows="candidate", parts="rule", xlabel=xlabel), reading,
        (10, 1.1 + 0.25 * min(15, max(table.candidate.nunique(), 3)))), "no candidate was refused.")


def _lost(view: Context, kind: str) -> Block:
    return _refused(f"refusals_{kind}", f"{spoken(kind).capitalize()}: PanDA queues where most cores were lost",
                    _named(view, metrics.cores_lost(view.run, kind), kind),
                    "cores lost, mean over the decisions in the window",
                    "A batch system counts in each decision at its queue that came furthest, with the rule that "
                    "refused it (PanDA's log tag); queues that are never online are left out.")


def _funnel(view: Context, kind: str) -> Block:
    table = _named(view, metrics.brokerage_funnel(view.run, kind), kind)
    return plot_or_note(Plot(
        _name("brokerage_funnel", kind), f"{spoken(kind).capitalize()}: candidates left after each rule", table,
        drawn_by("bars.heat_map", rows="share", columns="rule", order=_rules_in_order(view, kind),
                label="candidates left, mean over the decisions of the share"),
        "Pseudo-queues left after each rule (PanDA's log tag), left to right in PanDA's order; rules without a refusal "
        "are omitted. The last column is the number of candidates that jobs were distributed over.",
        (10, 1.6 + 0.27 * max(table.share.nunique(), 2))), f"there was no {spoken(kind)} in the window.")


def _rates(view: Context, kind: str) -> Block:
    table = _named(view, metrics.refusal_rates(view.run, MOST_ROWS, kind), kind)
    return plot_or_note(Plot(
        _name("refusal_rates", kind), f"{spoken(kind).capitalize()}: queues by rule", table,
        drawn_by("bars.heat_map", rows="candidate", columns="rule", order=_rules_in_order(view, kind),
                label="% of the decisions on the queue"),
        "How often each rule refused the last resource type of a queue; +use: no rule refused it. Each row sums to "
        "100 %. Online queues, those where most cores were lost first. Details: `simgrid-broker explain RUN --why-not "
        "QUEUE`.",
        (10, 1.6 + 0.25 * max(table.candidate.nunique(), 3))), "no candidate was refused in the window.")


def _name(plot: str, kind: str) -> str:
    """Name of a plot about one broker: that of job brokerage is the plain one."""
    return plot if kind == metrics.JOB_BROKERAGE else f"{plot}_{kind}"


def _rules_in_order(view: Context, kind: str) -> tuple[str, ...]:
    return (*metrics.criteria(view.run, kind).label, metrics.USED)


def _in_words(view: Context, reasons: pd.DataFrame) -> pd.DataFrame:
    """Rules by kind and label, with what each does."""
    meanings = {(kind, step.label): step.meaning for kind in reasons.kind.unique()
             for step in metrics.criteria(view.run, kind).itertuples()}
    return reasons.assign(meaning=[meanings.get((row.kind, row.rule), "") for row in reasons.itertuples()],
                          kind=reasons.kind.map(spoken))


def _named(view: Context, table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """A table of one broker with the names of its rules."""
    return metrics.with_labels(view.run, table.assign(kind=kind))


def data(view: Context) -> Section:
    """Links, transfers and storages."""
    moved, storage = metrics.transfer_summary(view.run), metrics.storage_use(view.run)
    blocks = link_blocks(view)
    if len(moved):
        blocks.append(TableBlock("Transfers that ended in the window", wide(moved)))
    blocks.append(plot_or_note(Plot(
        "storages", "Fullest storages", view.over_time(metrics.storage_series(view.run)),
        drawn_by("series.lines", by="storage", ylabel="used (% of the size)", marks=view.marks, least=LEAST_PERCENT),
        "Used fraction of each DDM endpoint, for the eight that are fullest at the end."), "no storage was sampled."))
    blocks.append(_levels(view))
    blocks += staging_blocks(view)
    if len(storage):
        blocks.append(TableBlock("Storages at the end", wide(storage).head(MOST_ROWS)))
    return Section("data", "Links and storages", tuple(blocks))


def _levels(view: Context) -> Block:
    """Space of the storages with the most traffic."""
    table = view.over_time(metrics.storage_levels(view.run))
    names = list(dict.fromkeys(table.storage))[:MOST_STORAGES]
    n_rows = -(-max(len(names), 1) // STORAGE_COLUMNS)
    return plot_or_note(Plot(
        "storage_levels", "Levels of storages", table[table.storage.isin(names)],
        drawn_by("data.levels", marks=view.marks),
        "Space that is used, expired and free at the DDM endpoints to and from which most was written and deleted. "
        "Above the dashed line less is free than the minimum, and expired data is deleted.",
        (10, 0.7 + 1.6 * n_rows), (n_rows, STORAGE_COLUMNS)), "no storage was sampled.")


def failures(view: Context) -> Section:
    """Attempts that did not finish, by cause."""
    table = metrics.failures(view.run)
    n_rows = max(table.groupby(["status", "cause"]).ngroups, 3)
    blocks: list[Block] = [plot_or_note(Plot(
        "failures", "Failures by cause", table,
        drawn_by("bars.cause_bars", metrics=(("jobs", "attempts"), ("lost_core_hours", "lost core-hours"))),
        "Attempts that ended in the window without finishing, and the core-hours that they had used.",
        (10, 0.9 + 0.28 * n_rows), (1, 2)), "every attempt that ended in the window finished.")]
    if len(table):
        frame = wide(table)
        frame.insert(3, "part", 100 * frame.jobs / frame.jobs.sum())
        blocks.append(TableBlock("", frame.assign(cause=frame.cause.map(spoken))))
    if (table.cause == metrics.OUT_OF_MEMORY).any():
        blocks.append(TableBlock(
            "Attempts by requested memory per core", wide(metrics.memory_retries(view.run)),
            "Tasks with jobs that ran out of memory: the retry module raises the memory request of the next attempts."))
    return Section("failures", "Failures", tuple(blocks))


SECTIONS = (answers, shares, waiting, users, brokerage, cores, jobs, data, failures, attempts, progress, configuration)
"""The sections of a run's report; each is a function of the context."""


@texts_of_python()
@of_run
def write_report(run: Run, steps: Callable[[Iterable], Iterable] = iter, plots: bool = True,
                 formats: str | Iterable[str] = (), base: Run | str | Path | None = None) -> Path:
    """Write the report of `run`, or of the one in a folder, there and return the path of report.html.

    A section that needs a table that is missing is a note. Raises OutputError, and ValueError for an unknown format.

    steps: wraps the sections and then the plots, for example tqdm, to show progress; plots: whether they are drawn;
    formats: "png", "pdf" or both, in which plots/ has them too; base: a run, or its folder, against which the first
    section says what changed.
    """
    read_jobs(run, FOR_REPORT)
    view = context(run, None if base is None else as_run(base))
    sections = [_or_note(section, view) for section in steps(SECTIONS)]
    pictures = save_plots(plots_of(sections), run.folder / "plots", steps, formats) if plots else {}
    scenario = run.manifest["scenario"]
    where = " Plots and their tables are also in plots/." if plots else ""
    versions = ", ".join(f"{name} {version}" for name, version in run.manifest["versions"].items())
    text = page(f"{scenario['name']}: {run.folder.resolve().name}",
                scenario.get("description") or "A simulated run of PanDA/JEDI.", sections, pictures,
                f"Made from {run.name} ({versions}).{where}")
    return write_whole(run.folder / REPORT, text)


def _or_note(section: Callable[[Context], Section], view: Context) -> Section:
    """A section, or in its place which table is missing."""
    try:
        return section(view)
    except InputFileError as error:
        name = section.__name__.strip("_")
        return Section(name, name.replace("_", " ").capitalize(), (
            Note(f"Not shown: {error.problems[0]}.", strong=True),))


def worker_table(run: Run) -> Block:
    """Workers of the queues and types whose slots were held longest."""
    table = wide(metrics.workers(run))
    held = table.used_core_h + table.idle_core_h + table.wasted_core_h
    shown = table.loc[held.sort_values(ascending=False, kind="stable").index[:MOST_WORKERS]]
    return table_or_note(TableBlock(
        "Workers", shown, f"The {MOST_WORKERS} queues and resource types whose workers held most core hours. Missed: "
        "could not be submitted; empty: left without having had a job. Idle: core hours of slots without a payload; "
        "wasted: of cores of a slot, or of a whole node, that its payload does not use.",
        anchor="queue"), "No worker was submitted in the window.")
