"""Blocks of the report about data: what moves over links and doors beside what limits it, and what is staged."""

import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.metrics import wide
from simgrid_broker.report.blocks import Block, Note, Plot, TableBlock, drawn_by, plot_or_note
from simgrid_broker.report.context import Context

MOST_PANELS, PANEL_COLUMNS = 8, 2
MOST_BARS = 15
MOST_SITES = 20
MOST_ROWS = 20


def link_blocks(view: Context) -> list[Block]:
    """All traffic, the busiest links, doors, queues at links, and who sends to whom."""
    links = metrics.link_use(view.run)
    return [_traffic(view), *_busiest(view, links), *_readers(view), *_doors(view), _queues(view, links), _matrix(view)]


def _traffic(view: Context) -> Block:
    return plot_or_note(Plot(
        "traffic", "Traffic of all links", view.over_time(metrics.traffic_series(view.run)),
        drawn_by("series.panels", metrics={"rate": "GB/s", "queued_files": "files queued"}, marks=view.marks),
        "Above: bytes delivered per second since the previous sample; below: files waiting or in transfer.",
        (10, 4.2), (2, 1)), "there was no transfer.")


def _busiest(view: Context, links: pd.DataFrame) -> list[Block]:
    n_rows = min(MOST_BARS, max(len(wide(links, "moved")), 3))
    plot = plot_or_note(Plot(
        "links", "Busiest links", links, drawn_by("bars.link_bars", most=MOST_BARS),
        "Bar: part of the window in which bytes moved; mark: busiest sample; right: volume moved.",
        (10, 1.1 + 0.25 * n_rows)), "there was no transfer in the window.")
    if not len(links):
        return [plot]
    waits = wide(metrics.link_waits(view.run)).reindex(columns=["source", "destination", "wait", "took"])
    frame = wide(links).head(MOST_ROWS).merge(waits, how="left", on=["source", "destination"])
    frame = frame.rename(columns={"peak_rate": "Peak rate, GB/s", "failed": "Failed, %", "wait": "Wait, min",
                                  "took": "Took, min"})
    return [plot, TableBlock(
        "Busiest links: figures", frame, "Rates in GB/s, the peak with the bytes of failed attempts; utilisation: % of "
        "the time in which bytes moved; failed: % of the attempts at files; wait: from request to first byte, took: to "
        "the last file, means of the transfers that ended in the window, min.")]


def _readers(view: Context) -> list[Block]:
    """Data that running jobs read from other sites; empty if none did."""
    table = wide(metrics.direct_reading(view.run))
    if not len(table):
        return []
    return [TableBlock("Read from other sites by running jobs (direct_reading)", table.head(MOST_ROWS).rename(columns={
        "jobs": "Jobs", "cut": "Cut short", "read": "Read, TB", "rate": "Rate of a job, MB/s", "took": "Took, min"}),
        "Jobs of tasks with allowInputWAN; cut short: those that ended before they had read all.")]


def _doors(view: Context) -> list[Block]:
    """Use of the doors that come closest to their capacities, over time and as figures."""
    use = wide(metrics.door_use(view.run))
    if not len(use):
        return [Note("Doors: no site, endpoint or backbone has a capacity that its links share.")]
    shown = use.door.head(MOST_PANELS).tolist()
    series = view.over_time(metrics.door_series(view.run, shown))
    size, grid = _panels(len(shown))
    return [plot_or_note(Plot(
        "doors", "Most used doors", series,
        drawn_by("data.limited_panels", names=shown, by="door", marks=view.marks,
                 texts={"rate": "Gb/s", "capacity": "capacity", "left": "left by other traffic"}),
        "Blue: what moved through the door since the previous sample, bytes of failed attempts included; dashed: its "
        "capacity in the scenario; dotted: what other traffic leaves of it.", size, grid),
        "there was no sample."),
        TableBlock("Most used doors: figures", use.head(MOST_ROWS).rename(columns={
            "door": "Door", "capacity": "Capacity, Gb/s", "rate": "Mean rate, Gb/s", "peak_rate": "Peak rate, Gb/s",
            "use": "Mean use, %", "peak_use": "Peak use, %"}),
                   "Rates in Gb/s, of failed attempts too; use: % of the capacity, mean and busiest sample.")]


def _queues(view: Context, links: pd.DataFrame) -> Block:
    """Files at the links with the longest queues, beside the limit of active files."""
    waiting = wide(links, "queued_files") if len(links) else pd.DataFrame(columns=["source", "destination"])
    if len(waiting):
        waiting = waiting[waiting.queued_files > 0]
        waiting = waiting.sort_values("queued_files", ascending=False, kind="stable").head(MOST_PANELS)
    pairs = list(zip(waiting.source, waiting.destination, strict=True))
    series = view.over_time(metrics.link_series(view.run, pairs))
    size, grid = _panels(len(pairs))
    return plot_or_note(Plot(
        "link_queues", "Links with the longest queues", series,
        drawn_by("data.limited_panels", names=list(map(" \N{RIGHTWARDS ARROW} ".join, pairs)), by="link",
                 texts={"queued_files": "files", "active_limit": "files that FTS lets move at once"},
                 marks=view.marks),
        "Blue: files that wait or are under way; dashed: how many FTS lets move at once. What is above the dashed line "
        "waits.", size, grid), "no file waited or moved at any sample.")


def _panels(count: int) -> tuple[tuple[float, float], tuple[int, int]]:
    """Size of a plot with so many panels, inches, and its rows and columns."""
    n_rows = max(-(-count // PANEL_COLUMNS), 1)
    return (10, 0.9 + 1.35 * n_rows), (n_rows, PANEL_COLUMNS)


def _matrix(view: Context) -> Block:
    table = metrics.site_matrix(view.run, MOST_SITES)
    drawn = table[table.metric == "moved"]
    order = list(dict.fromkeys([*drawn.source, *drawn.destination]))
    n_rows = max(drawn.source.nunique(), 3)
    return plot_or_note(Plot(
        "site_matrix", "Bytes from site to site", drawn,
        drawn_by("bars.heat_map", rows="source", columns="destination", order=order,
                 label="TB moved in the window, from the site of the row to that of the column"),
        f"The {MOST_SITES} busiest sites, by bytes sent and received. With rates: `simgrid-broker links RUN --matrix`.",
        (10, 1.6 + 0.27 * n_rows)), "there was no transfer in the window.")


PANELS = {"waiting": "waiting (TB)", "staging": "staging (TB)", "done": "done (TB)", "mounted": "drives at work"}

LABELS = {"requests": "Requests", "size": "Size, TB", "done": "Done", "for_quota": "Wait for the quota, h",
          "for_drive": "Wait for a drive, h", "staged": "Until all is on disk, h"}
"""Metrics of the requests of a tape, in words."""


def staging_blocks(view: Context) -> list[Block]:
    """Progress of requests by tape; nothing where no dataset was asked for from tape."""
    table = view.over_time(metrics.staging_series(view.run))
    if not len(table):
        return []
    table = pd.concat([table, view.over_time(metrics.drives_series(view.run))], ignore_index=True)
    waits = TableBlock("Requests of the window, by physical tape",
                       wide(metrics.staging_summary(view.run)).rename(columns=LABELS | {"tape": "Tape"}),
                       "Means: from the request to its rule, from there to the drive that takes it up, and from the "
                       "request to the last file on disk.")
    return [plot_or_note(Plot(
        "staging", "Datasets from tape", table, drawn_by("series.panels", by="tape", metrics=PANELS, marks=view.marks),
        "Size of the datasets that tasks asked for, by physical tape. Waiting: the quota of the tape does not allow it "
        "yet; staging: waits for a drive, is read or on its way to disk; done: all on disk, summed from the start. "
        "Drives at work: at each sample.",
        (10, 7.8), (len(PANELS), 1)), "no dataset was asked for in the window."), waits]
