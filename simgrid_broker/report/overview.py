"""The first section of a report: run, headline figures and summary tables."""

from collections.abc import Mapping

import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.metrics import wide
from simgrid_broker.records import Run
from simgrid_broker.report.blocks import Block, Note, Row, Section, TableBlock, Tiles
from simgrid_broker.report.caveats import warnings_of
from simgrid_broker.report.context import Context, incident_table
from simgrid_broker.report.terminal import jobs_per_second
from simgrid_broker.report.words import SUMMARY_LABELS, number, spoken
from simgrid_broker.units import format_seconds

HEADLINES = (
    ("finished", "", "Jobs finished", "in the window"),
    ("failure_rate", " %", "Failure rate", "of finished and failed jobs"),
    ("core_occupancy", " %", "Core occupancy", "of all cores, on average"),
    ("wait_km_p50", " h", "Waiting time", "median, with jobs that still wait"),
    ("share_misplaced", " %", "Power above due", "of all power in use"),
    ("ended_per_hour", " /h", "Throughput", "jobs ended, in any final status"),
)
"""Headline figures: metric of the summary, unit, label and explanation."""


def overview(view: Context) -> Section:
    """Warnings, headline figures, run description and summary tables."""
    run, table = view.run, metrics.summary(view.run)
    figures = pd.DataFrame({"figure": [SUMMARY_LABELS[metric] for metric in table.metric], "value": table.value,
                            "unit": table.unit})
    incidents = incident_table(run)
    blocks: list[Block] = [Note(text, strong=True) for text in warnings_of(run)]
    if not table.value[table.metric.isin(["finished", "failed", "closed", "cancelled"])].any():
        blocks.append(Note("No job ended in the window.", strong=True))
    blocks += [Tiles(tuple(_tile(table, *headline) for headline in HEADLINES)),
               Row((TableBlock("Run", _about(view)),
                    TableBlock("Jobs by status", _jobs(view), "Ended in the window, or alive at its end."))),
               TableBlock("Summary", figures, f"Over the window, {view.window}.", mixed=True)]
    blocks += [TableBlock("Incidents", incidents)] if len(incidents) else []
    return Section("summary", "Run summary", tuple(blocks))


def configuration(view: Context) -> Section:
    """The configuration of the run, its counters and its timings."""
    changed = changed_values(view.run.manifest)
    blocks: list[Block] = [TableBlock("gdpconfig values that are not the default", changed)] if len(changed) else []
    blocks.append(TableBlock("Counters and timings of the run", _counters(view.run.manifest), mixed=True))
    if len(own := own_tables(view.run)):
        blocks.append(TableBlock("Tables that agents declared", own, "Each is an attribute of the run."))
    return Section("configuration", "Configuration, counters and timings", tuple(blocks))


def own_tables(run: Run) -> pd.DataFrame:
    """Tables that agents of other packages declared: name, rows, what a row is, columns with their units."""
    names = [table for agent in run.manifest.get("agents", ()) if not agent["module"].startswith("simgrid_broker.")
             for table in agent.get("tables", ())]
    rows = [(name, float(len(run.table(name))), run.tables[name].row,
             ", ".join(f"{column.name} ({column.unit})" if column.unit else column.name
                       for column in run.tables[name].columns)) for name in names]
    return pd.DataFrame(rows, columns=["table", "rows", "a row is", "columns"])


def changed_values(manifest: Mapping) -> pd.DataFrame:
    """gdpconfig values whose origin is not the default: key, value, origin (a file with its folder only)."""
    rows = [(key, str(entry["value"]), "/".join(str(entry["origin"]).split("/")[-2:]))
            for key, entry in manifest["gdpconfig"].items() if entry["origin"] != "default"]
    return pd.DataFrame(rows, columns=["key", "value", "origin"])


def _tile(table: pd.DataFrame, metric: str, unit: str, name: str, meaning: str) -> tuple[str, str, str]:
    value = number(float(table.value[table.metric == metric].iloc[0]))
    return name, value if value == "–" else value + unit, meaning


def _about(view: Context) -> pd.DataFrame:
    manifest, scenario = view.run.manifest, view.run.manifest["scenario"]
    grid = scenario["grid"]
    rows = {"Scenario": scenario["name"], "Description": scenario.get("description") or "–", "Run": view.run.name,
            "Status": manifest["status"], "Edition of the rules": manifest["edition"],
            "Seed": str(manifest["seed"]), "Simulated time": format_seconds(float(manifest["duration_s"])),
            "Window of the figures": str(view.window),
            "Grid": f"sites: {len(grid['sites'])}; PanDA queues: {len(grid['queues'])}; "
                    f"cores: {number(metrics.core_capacity(view.run))}",
            "Share tree": f"leaf shares: {len(view.tree.leaves)}; levels: {view.tree.level.max()}"}
    return pd.DataFrame({"what": list(rows), "value": list(rows.values())})


def _jobs(view: Context) -> pd.DataFrame:
    rows = wide(metrics.jobs_by_status(view.run))
    rows["part"] = 100 * rows.jobs / rows.jobs.sum() if rows.jobs.sum() else 0.0
    return rows[["state", "status", "jobs", "part"]]


def _counters(manifest: Mapping) -> pd.DataFrame:
    rows = [(spoken(name), float(value), "") for name, value in manifest["counters"].items()]
    rows += [(f"wall-clock time, {spoken(name.removesuffix('_s'))}", float(value), "s")
             for name, value in manifest["timings"].items()]
    rows.append(("simulated jobs per second of wall-clock time", jobs_per_second(manifest), "jobs/s"))
    return pd.DataFrame(rows, columns=["figure", "value", "unit"])
