"""The last section of a report: the run, its summary, configuration, counters and timings."""

from collections.abc import Mapping

import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.metrics import wide
from simgrid_broker.records import Run
from simgrid_broker.report.blocks import Block, Row, Section, TableBlock
from simgrid_broker.report.context import Context, incident_table
from simgrid_broker.report.terminal import jobs_per_second
from simgrid_broker.report.words import SUMMARY_LABELS, number, spoken
from simgrid_broker.units import format_seconds


def configuration(view: Context) -> Section:
    """The run, all figures of its summary, incidents, configuration, counters and timings."""
    run, table = view.run, metrics.summary(view.run)
    figures = pd.DataFrame({"figure": [SUMMARY_LABELS[metric] for metric in table.metric], "value": table.value,
                            "unit": table.unit})
    blocks: list[Block] = [
        Row((TableBlock("Run", _about(view)),
             TableBlock("Jobs by status", _jobs(view), "Ended in the window, or alive at its end."))),
        Row((TableBlock("Summary", figures, f"Over the window, {view.window}.", mixed=True),
             TableBlock("Counters and timings of the run", _counters(run.manifest), mixed=True)))]
    for title, found in (("Incidents", incident_table(run)),
                         ("gdpconfig values that are not the default", changed_values(run.manifest))):
        blocks += [TableBlock(title, found)] if len(found) else []
    if len(own := own_tables(run)):
        blocks.append(TableBlock("Tables that agents declared", own, "Each is an attribute of the run."))
    return Section("configuration", "Run, configuration, counters and timings", tuple(blocks))


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
