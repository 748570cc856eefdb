"""`shares`: the share tree of a scenario or run with targets, use, order and what limits each share."""

import json
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.loading import loaded
from simgrid_broker.cli.text import paragraph, table

if TYPE_CHECKING:
    from simgrid_broker.records import Run
    from simgrid_broker.scenario import Scenario

EXAMPLES = """\b
Examples:
  simgrid-broker shares scenarios/atlas_day.yaml
  simgrid-broker shares results/quickstart/seed-1 --json
"""
ENOUGH = 0.9
"""Part of its target that a share can reach and is not called limited by its work."""
MOSTLY = 0.5
"""Part of the running cores at small queues from which these limit a share that is not served."""


def shares(
    given: Annotated[Path, typer.Argument(metavar="SCENARIO_OR_RUN", help="Scenario file, YAML, or folder of a run.",
                                          show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the share tree with targets, use, order, and what limits each share.

    Of a scenario: the cores that its streams of work would keep busy. Of a run: power over the window, and the order in
    which pilots looked for jobs at the last sample.
    """
    if given.is_dir():
        from simgrid_broker.records import read_run
        rows, note = of_run(read_run(given)), RUN_NOTE
    else:
        rows, note = of_scenario(loaded(given)), SCENARIO_NOTE
    if as_json:
        plain = [{key: None if value != value else value for key, value in row.items()} for row in rows]
        typer.echo(json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False))
        return
    keys = [key for key in rows[0] if key in HEADS]
    cells = [("  " * row["level"] + row["share"], *(_number(row[key]) for key in keys), row["limit"]) for row in rows]
    typer.echo(table(("share", *(HEADS[key] for key in keys), "limit"), cells, numbers=range(1, len(keys) + 1)))
    typer.echo(paragraph(note))


HEADS = {"target": "target %", "due": "due %", "delivered": "used %", "order": "order", "activated": "waiting",
         "target_cores": "cores", "offered_cores": "offered"}
"""Columns shown in a terminal."""
RUN_NOTE = ("due: target with what shares without work leave, to siblings first; order: place in dispatch at the last "
            "sample, 1 = first; waiting: activated jobs then. Limits: no work; seldom or little work: activated jobs "
            "were missing, or too few to reach the target; no slots: of the types of its jobs; not served: below its "
            "target and below what was due although work waited; small queues: the same where most cores are at queues "
            "with so few slots that pilot streaming asks for workers for several shares at once, and Harvester scales "
            "the numbers of all types alike")
SCENARIO_NOTE = ("cores: target, of all batch systems; offered: cores that the streams of work keep busy on average, "
                 "without backlogs, a recorded workload, and work that work queues take; – = these alone. Limits: no "
                 "work; little work: less than 90 % of the target")


def _number(value: float | None) -> str:
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
    from simgrid_broker.metrics.shares import share_samples
    from simgrid_broker.metrics.usage import part_at_small_queues
    from simgrid_broker.policy.pilot_streaming import MIN_SLOTS_QUEUED, QUEUED_PART
    small = part_at_small_queues(run, MIN_SLOTS_QUEUED / QUEUED_PART) >= MOSTLY
    samples, figures = share_samples(run), metrics.wide(metrics.share_compliance(run))
    tree, order = samples.tree, np.zeros(len(samples.tree.names), int)
    if len(samples.times):
        order[tree.leaves[last_order(samples)]] = 1 + np.arange(len(tree.leaves))
    now = {name: getattr(samples, name)[-1] if len(samples.times) else np.zeros(len(tree.names))
           for name in ("activated", "queued")}
    return [{"share": str(row.share), "level": int(row.level), "target": float(row.target), "due": float(row.due),
             "delivered": float(row.delivered), "order": int(order[row.node]) or None,
             "activated": int(now["activated"][row.node]), "queued": int(now["queued"][row.node]),
             "limit": _limit_in_run(row, small)} for row in figures.itertuples()]


def last_order(samples):
    """Leaves of a tree in the order of dispatch at the last sample, (n_leaves,), by PanDA's rule."""
    from simgrid_broker.policy.shares.tree import share_order
    from simgrid_broker.views import ShareTree
    tree = samples.tree
    return share_order(ShareTree(tree.names, tree.parent, tree.value, tree.leaves), samples.hs06[-1][tree.leaves])


def _limit_in_run(row, small: bool = False) -> str:
    """Reason why a share is below its target or cannot be judged; empty if there is none.

    small: true if most cores are at small queues of pilot streaming.
    """
    from simgrid_broker.metrics.shares import SEEN, limited_by
    if not row.waiting and not row.delivered:
        return "no work"
    if row.demand_limited:
        return "little work" if row.waiting >= SEEN else "seldom work"
    if limited_by(row) == "slots":
        return "no slots"
    if row.delivered >= ENOUGH * min(row.target, row.due):
        return ""
    return "small queues" if small else "not served"
