"""`shares` of a scenario or run, and `explain --share` and `--unplaced`: which rules take how much of the cores."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.loading import loaded, recorded_run
from simgrid_broker.cli.text import count, paragraph, table
from simgrid_broker.cli.trouble import BadArgument, moment_of
from simgrid_broker.errors import nearest
from simgrid_broker.names import USED

if TYPE_CHECKING:
    import pandas as pd

    from simgrid_broker.records import Run
    from simgrid_broker.scenario import Scenario


EXAMPLES = """\b
Examples:
  simgrid-broker shares scenarios/atlas_day.yaml
  simgrid-broker shares results/quickstart/seed-1 --json
  simgrid-broker shares results/siblings/seed-1 --workers EAST --at 20h
"""
OF_WORKERS = ("waiting", "running", "submitted", "started")
"""Columns of the table `workers` that are shown."""
OF_CYCLES = ("cycles", "wanted", "submitted")
"""Columns of the table `workers_asked` that are shown."""
WORKERS_NOTE = ("waiting: in the batch system; submitted and started: since the sample before. Cycles of Harvester's "
                "submitter in which workers were wanted, by the limit that left fewer, with sums over them; a worker "
                "that is not submitted is wanted again in the next cycle")
ENOUGH = 0.9
"""Part of its target that a share can reach and is not called limited by its work."""


def shares(
    given: Annotated[Path, typer.Argument(metavar="SCENARIO_OR_RUN", help="Scenario file, YAML, or folder of a run.",
                                          show_default=False)],
    queue: Annotated[str | None, typer.Option("--workers", metavar="QUEUE", show_default=False, help="Follow the "
                                              "workers of a PanDA queue of a run through an hour.")] = None,
    at: Annotated[str | None, typer.Option(help="Begin of that hour; the last one without.", metavar="TIME",
                                           show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the share tree with targets, use, order, and what limits each share.

    Of a scenario: the cores that its streams of work would keep busy. Of a run: power over the window, and the order in
    which pilots looked for jobs at the last sample.
    """
    if queue is not None or at is not None:
        typer.echo(workers_text(*hour_of_workers(given, queue, at), as_json))
        return
    if given.is_dir():
        rows, note = of_run(recorded_run(given)), RUN_NOTE
    else:
        rows, note = of_scenario(loaded(given)), SCENARIO_NOTE
    if as_json:
        plain = [{key: None if value != value else value for key, value in row.items()} for row in rows]
        typer.echo(json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False))
        return
    keys = [key for key in rows[0] if key in HEADS]
    cells = [("  " * row["level"] + row["share"], *(_cell(row[key]) for key in keys), row["limit"]) for row in rows]
    typer.echo(table(("share", *(HEADS[key] for key in keys), "limit"), cells, numbers=range(1, len(keys) + 1)))
    typer.echo(paragraph(note))


HEADS = {"target": "target %", "due": "due %", "delivered": "used %", "order": "order", "activated": "waiting",
         "target_cores": "cores", "offered_cores": "offered"}
"""Columns shown in a terminal."""
RUN_NOTE = ("due: target with what shares without work leave, to siblings first; order: place in dispatch at the last "
            "sample, 1 = first; waiting: activated jobs then. Limits, of shares below their target: no work; little "
            "work: less than the target; else the first link from the tasks that arrived to the running jobs that is "
            "narrower than what the tasks could have used, with its rule (`why RUN SHARE`; of the workers of a queue "
            "--workers QUEUE)")
SCENARIO_NOTE = ("cores: target, of all batch systems; offered: cores that the streams of work keep busy on average, "
                 "without backlogs, a recorded workload, and work that work queues take; – = these alone. Limits: no "
                 "work; little work: less than 90 % of the target")


def hour_of_workers(given: Path, queue: str | None, at: str | None) -> tuple["pd.DataFrame", "pd.DataFrame", str]:
    """Samples of the workers of a queue within an hour, cycles of Harvester in it, and Harvester's limit in words.

    The first two have a row for each resource type. Raises BadArgument for a scenario, an unknown queue, or a time
    without samples.
    """
    from simgrid_broker import units
    if queue is None or not given.is_dir():
        raise BadArgument("--workers", queue or "", "needs the folder of a run and a queue")
    run = recorded_run(given)
    queues = run.manifest["scenario"]["grid"]["queues"]
    if queue not in queues:
        raise BadArgument("--workers", queue, "unknown queue of the run", nearest(queue, queues))
    begin = run.end_s - units.HOUR if at is None else moment_of(at)
    rows = run.workers[(run.workers.queue == queue) & run.workers.time_s.between(begin, begin + units.HOUR)]
    if not len(rows):
        raise BadArgument("--at", at or "", f"no sample of workers of {queue!r} in this hour, of a run that ends at "
                          f"{units.format_seconds(run.end_s)}")
    cycles = run.table("workers_asked")
    cycles = cycles[(cycles.queue == queue) & cycles.time_s.between(begin - units.HOUR, begin, inclusive="right")]
    return (rows[["time_s", "resource_type", *OF_WORKERS]], cycles[["time_s", "resource_type", "cut_by", *OF_CYCLES]],
            limit_of_workers(queues[queue]))


def limit_of_workers(queue: dict) -> str:
    """Harvester's limit of the waiting workers of a queue, as in the manifest, in words."""
    from simgrid_broker.schema.harvester import ceiling, ratio_option
    from simgrid_broker.schema.queues import Queue
    as_written = Queue.model_validate(queue)
    most, (ratio, least) = ceiling(as_written, "Worker"), (
        ratio_option(as_written, f"nQueueLimitWorker{which}") for which in ("Ratio", "Min"))
    part = "" if ratio != ratio else f"{ratio:g} % of the running ones (nQueueLimitWorkerRatio)" + (
        "" if least != least else f", or {least:,.0f} (nQueueLimitWorkerMin) if that is more") + ", and "
    return f"Harvester lets wait, all types together: {part}no more than {most:,.0f} (nQueueLimitWorker)"


def workers_text(samples: "pd.DataFrame", cycles: "pd.DataFrame", limit: str, as_json: bool) -> str:
    """Samples of workers and cycles of Harvester as tables, or as JSON."""
    if as_json:
        return json.dumps({name: json.loads(rows.astype({"resource_type": object}).to_json(orient="records"))
                           for name, rows in (("samples", samples), ("cycles", cycles))}, indent=1)
    from simgrid_broker.metrics.summary import EVERY
    from simgrid_broker.units import format_seconds

    def text(rows: "pd.DataFrame", words: tuple[str, ...], numbers: tuple[str, ...]) -> str:
        cells = [(format_seconds(row.time_s), row.resource_type if isinstance(row.resource_type, str) else EVERY,
                  *("" if (word := getattr(row, name)) != word else word for name in words),
                  *(f"{getattr(row, name):,.0f}" for name in numbers)) for row in rows.itertuples()]
        return table(("time", "type", *(name.replace("_", " ") for name in words), *numbers), cells,
                     numbers=range(2 + len(words), 2 + len(words) + len(numbers)))
    return "\n".join([text(samples, (), OF_WORKERS), "", text(cycles, ("cut_by",), OF_CYCLES),
                      paragraph(f"{limit}. {WORKERS_NOTE}")])


def _cell(value: float | None) -> str:
    if value is None or value != value:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.1f}"


def of_scenario(scenario: "Scenario") -> list[dict]:
    """One row for each node of the tree of a scenario, parents before their children."""
    from simgrid_broker.scenario.shares import leaf_of
    from simgrid_broker.world.queue_tables import pools_of
    from simgrid_broker.world.shares import share_tree
    tree = share_tree(scenario.shares_in_use)
    cores = sum(pool.cores for pool in pools_of(scenario.grid)[1])
    offered, streams = [0.0] * len(tree.names), [0] * len(tree.names)
    unknown = [scenario.workload.trace is not None or bool(scenario.work_queues)] * len(tree.names)
    for stream in (*scenario.workload.campaigns, *scenario.workload.users) if not scenario.work_queues else ():
        leaf = leaf_of(scenario, stream)
        node = -1 if leaf is None else tree.names.index(leaf)
        while node >= 0:
            streams[node] += 1
            offered[node] += _rate(scenario, stream) * stream.mean_task_core_s
            unknown[node] |= bool(getattr(stream, "backlog", 0))
            node = int(tree.parent[node])
    return [{"share": name, "level": _level(tree.parent, node), "target": float(tree.value[node]),
             "target_cores": float(tree.value[node]) / 100 * cores,
             "offered_cores": nan if unknown[node] and not offered[node] else offered[node],
             "limit": _limit_of_work(streams[node], offered[node], tree.value[node] / 100 * cores, unknown[node])}
            for node, name in enumerate(tree.names)]


def _rate(scenario: "Scenario", stream) -> float:
    """Tasks per second of a stream; one with a parent has as many as that."""
    parents = {campaign.name: campaign for campaign in scenario.workload.campaigns}
    while getattr(stream, "parent", None) is not None:
        stream = parents[stream.parent]
    return stream.tasks_per_s


def _limit_of_work(streams: int, offered: float, target: float, unknown: bool) -> str:
    if unknown:
        return ""
    if not streams:
        return "no work"
    return "little work" if offered < ENOUGH * target else ""


def _level(parent, node: int) -> int:
    return 0 if parent[node] < 0 else 1 + _level(parent, int(parent[node]))


def of_run(run: "Run") -> list[dict]:
    """One row for each node of the tree of a run, parents before their children."""
    import numpy as np

    from simgrid_broker import metrics
    from simgrid_broker.metrics.chain_words import limits
    from simgrid_broker.metrics.shares import share_samples
    samples, figures = share_samples(run), metrics.wide(metrics.share_compliance(run))
    tree, order = samples.tree, np.zeros(len(samples.tree.names), int)
    if len(samples.times):
        order[tree.leaves[last_order(samples)]] = 1 + np.arange(len(tree.leaves))
    limit = limits(run)
    now = {name: getattr(samples, name)[-1] if len(samples.times) else np.zeros(len(tree.names))
           for name in ("activated", "queued")}
    return [{"share": str(row.share), "level": int(row.level), "target": float(row.target), "due": float(row.due),
             "delivered": float(row.delivered), "order": int(order[row.node]) or None,
             "activated": int(now["activated"][row.node]), "queued": int(now["queued"][row.node]),
             "limit": limit.get(str(row.share), "")} for row in figures.itertuples()]


def last_order(samples):
    """Leaves of a tree in the order of dispatch at the last sample, (n_leaves,), by PanDA's rule."""
    from simgrid_broker.policy.shares.dispatch import share_order
    from simgrid_broker.views import ShareTree
    tree = samples.tree
    return share_order(ShareTree(tree.names, tree.parent, tree.value, tree.leaves), samples.hs06[-1][tree.leaves])


MOST_RULES = 3
"""Rules shown without --all: those that take most."""
PERCENT = "\u00a0%"
"""Per cent after a number, not to be separated from it."""
MOST_TASKS = 6
"""Maximum number of tasks named at once; JSON has all."""
THINGS = {"job_brokerage": ("cores", "queue"), "task_brokerage": ("sites", "nucleus"),
          "analysis_brokerage": ("cores", "queue")}
"""Quantity of which the rules of a broker leave a part, and the name of its candidates."""


@dataclass(frozen=True)
class Answer:
    """Candidates that one broker left to one share.

    rules: `metrics.reach` of the share, one row per rule in order, with label, PanDA's name and meaning; n_empty: its
    decisions without a candidate, None if not all are recorded; recorded: `metrics.reach_recorded` of its unplaced
    tasks; tasks: these tasks, as `metrics.unplaced_tasks`.
    """

    share: str
    kind: str
    n_decisions: int
    n_empty: int | None
    rules: "pd.DataFrame"
    recorded: "pd.DataFrame"
    tasks: "pd.DataFrame"

    def to_dict(self) -> dict:
        """The answer as JSON-compatible types, except NaN."""
        return {"share": self.share, "kind": self.kind, "decisions": self.n_decisions, "empty_decisions": self.n_empty,
                **{name: getattr(self, name).to_dict("records") for name in ("rules", "recorded", "tasks")}}


def answers(run: "Run", share: str | None = None, unplaced: bool = False) -> list[Answer]:
    """Answers for each broker and all leaf shares, or those below `share`; unplaced: only shares with tasks without a
    place, most first.

    Raises BadArgument for an unknown share.
    """
    from simgrid_broker import metrics
    waiting = metrics.unplaced_tasks(run)
    recorded = metrics.explain(run, tasks=set(waiting.jeditaskid))
    empty = _empty_decisions(run)
    shares = []
    for kind in THINGS:
        rules = metrics.with_labels(run, metrics.wide(metrics.reach(run, kind)).assign(kind=kind))
        rules = rules.merge(metrics.criteria(run, kind)[["criterion", "panda", "meaning"]], on="criterion", how="left")
        of_kind = metrics.reach_recorded(run, recorded, kind)
        for name, rows in rules.groupby("share", sort=False):
            tasks = waiting[(waiting.share == name) & (waiting.kind == kind)]
            n_empty = None if empty is None else empty.get((kind, name), 0)
            shares.append(Answer(str(name), kind, int(rows.decisions.iloc[0]), n_empty,
                                 rows.drop(columns=["kind", "share", "decisions"]),
                                 of_kind[of_kind.jeditaskid.isin(tasks.jeditaskid)], tasks))
    if share is not None:
        leaves = leaves_of(run, "--share", share)
        return [each for each in shares if each.share in leaves]
    return sorted((each for each in shares if len(each.tasks) or not unplaced), key=lambda each: -len(each.tasks))


def leaves_of(run: "Run", key: str, share: str) -> tuple[str, ...]:
    """The leaf shares below a share, itself if it is one; raises BadArgument, which names `key`, for an unknown one."""
    from simgrid_broker.metrics.shares import share_tree
    tree = share_tree(run)
    if share not in tree.names[1:]:
        near = nearest(share, tree.names[1:])
        known = "" if near else f"; the shares are {', '.join(tree.names[1:])}"
        raise BadArgument(key, share, f"unknown share of the run{known}", near)
    return tuple(tree.leaf_names[leaf] for leaf in tree.below[tree.names.index(share)].nonzero()[0])


def _empty_decisions(run: "Run") -> dict | None:
    """Decisions without a candidate by kind and share; None if only a part of all decisions is recorded."""
    if run.manifest["scenario"].get("record", {}).get("decisions", 1) < 1:
        return None
    rows = run.table("decisions", ["kind", "share", "n_kept"])
    return rows[rows.n_kept == 0].astype({"kind": object, "share": object}).groupby(["kind", "share"]).size().to_dict()


def text(by_share: list[Answer], everything: bool) -> str:
    """Each answer for a terminal; everything: all rules, else those that take most."""
    blocks = [_block(each, everything) for each in by_share]
    return "\n\n".join([*blocks, *meanings(row for each in by_share for row in _shown(each, everything))])


def meanings(rows: Iterable) -> list[str]:
    """Meanings of the rules in `rows` by label, as one paragraph; none if no rule has a sentence."""
    by_rule = dict.fromkeys((row.rule, row.meaning) for row in rows if row.rule != USED and row.meaning)
    return ["\n".join(paragraph(f"{rule}: {meaning}", "  ") for rule, meaning in by_rule)] if by_rule else []


def _shown(each: Answer, everything: bool) -> list:
    """The rules that the table of an answer shows, in order."""
    return [row for row in each.rules.itertuples() if everything or row.criterion in _largest(each)]


def _block(each: Answer, everything: bool) -> str:
    of, candidate = THINGS[each.kind]
    empty = "" if each.n_empty is None else f", {each.n_empty:,} without a {candidate}"
    about = f"{each.share}, {each.kind.replace('_', ' ')}: {count(each.n_decisions, 'decision')}{empty}"
    if not len(each.rules):
        return about
    total = each.rules.taken.sum()
    lines = [paragraph(f"{about}; of {_number(total)} {of}, by the rule that "
                       + ("refused the last queue of each batch system" if of == "cores" else "refused them")
                       + ", mean over the decisions")]
    part, main = _parts(each)
    rows = [_row(row, part, main) for row in _shown(each, everything)]
    head = ("criteria", of, "%", "left", *(("unplaced %", "tasks") if part else ()))
    first = ("(all)", "", "", _number(total), *(("", "") if part else ()))
    lines.append(table(head, [first, *rows], numbers=(1, 2, 3, 4) if part else (1, 2, 3)))
    more = len(each.rules) - len(rows)
    lines += [f"{count(more, 'other rule')}: --all"] if more else []
    return "\n".join([*lines, *_waiting(each)])


def _row(row, part: dict[str, float], main: dict[str, list[int]]) -> tuple[str, ...]:
    extra = (f"{part.get(row.criterion, 0):.1f}", named(main.get(row.criterion, ()))) if part else ()
    return (row.rule, _number(row.taken), f"{row.part:.1f}", "" if row.rule == USED else _number(row.left), *extra)


def _parts(each: Answer) -> tuple[dict[str, float], dict[str, list[int]]]:
    """Of the recorded decisions on unplaced tasks: % that each rule takes, and the tasks from which it takes most."""
    rows = each.recorded
    if not len(rows):
        return {}, {}
    part = rows.groupby("criterion").taken.sum() / rows.taken.sum() * 100
    last = rows[rows.time_s == rows.groupby("jeditaskid").time_s.transform("max")]
    main = last.loc[last.groupby("jeditaskid").taken.idxmax()]
    return part.to_dict(), main.groupby("criterion").jeditaskid.agg(list).to_dict()


def _largest(each: Answer) -> frozenset[str]:
    """The rules that take most, of unplaced tasks if any are recorded, and what is left."""
    refused = each.rules[each.rules.rule != USED]
    part, _ = _parts(each)
    size = refused.criterion.map(part).fillna(0.0) if part else refused.part
    return frozenset((*refused.criterion[size.sort_values(ascending=False, kind="stable").index[:MOST_RULES]], USED))


def _waiting(each: Answer) -> list[str]:
    """Lines about the tasks that never got a job."""
    if not len(each.tasks):
        return []
    streams = each.tasks.groupby("name", sort=False).jeditaskid.agg(list)
    listed = "; ".join(f"{name} {len(tasks)}: {named(tasks)}"
                       for name, tasks in sorted(streams.items(), key=lambda item: -len(item[1])))
    lines = [paragraph(f"{count(len(each.tasks), 'task')} without a {THINGS[each.kind][1]} at the end: {listed}", "  ")]
    recorded = sorted(set(each.recorded.jeditaskid))
    return [*lines, f"recorded candidate by candidate (--task ID): {named(recorded)}"] if recorded else lines


def overview(run: "Run", by_share: list[Answer]) -> str:
    """One line per share and broker of jobs: decisions, cores left, and the rules that take most of them."""
    rows, named_rules = [], []
    of_jobs = (each for each in by_share if THINGS[each.kind][0] == "cores")
    for each in sorted(of_jobs, key=lambda each: (each.share, each.kind)):
        used = float(each.rules.part[each.rules.rule == USED].sum())
        empty = "" if each.n_empty is None else f"{100 * each.n_empty / each.n_decisions:.1f}"
        refused = each.rules[each.rules.rule != USED].sort_values("part", ascending=False, kind="stable")
        largest = list(refused.head(MOST_RULES).itertuples())
        named_rules += largest
        rows.append((each.share, each.kind.removesuffix("_brokerage"), f"{each.n_decisions:,}", empty, f"{used:.1f}",
                     ", ".join(f"{row.rule} {row.part:.0f}{PERCENT}" for row in largest)))
    number = sum(len(each.tasks) for each in by_share)
    lines = [paragraph("Brokerage of jobs by share: cores left to a decision, and the rules that take most of them")]
    head = ("share", "broker", "decisions", "no queue %", "cores left %", "taken by")
    lines += [table(head, rows, numbers=(2, 3, 4))]
    lines += meanings(named_rules)
    lines += [paragraph(f"{count(number, 'task')} never got a job: --unplaced shows why. " if number else "")]
    return "\n".join([*(line for line in lines if line), paragraph(
        "--share NAME shows all rules of a share, --task ID the decisions on a task, --why-not QUEUE what kept a queue "
        "from being used.")])


def named(tasks) -> str:
    """Numbers of the first tasks."""
    return ", ".join(map(str, tasks[:MOST_TASKS])) + (", ..." if len(tasks) > MOST_TASKS else "")


def _number(value: float) -> str:
    """Cores or sites: whole from 100 on, else one digit behind the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
