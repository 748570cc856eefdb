"""The part of the report on what the data carousel brings from tape."""

import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.metrics import wide
from simgrid_broker.report.blocks import Block, Plot, TableBlock, drawn_by, plot_or_note
from simgrid_broker.report.context import Context

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
        "staging", "Datasets from tape", table, drawn_by("data.progress", panels=PANELS, marks=view.marks),
        "Size of the datasets that tasks asked for, by physical tape. Waiting: the quota of the tape does not allow it "
        "yet; staging: waits for a drive, is read or on its way to disk; done: all on disk, summed from the start. "
        "Drives at work: at each sample.",
        (10, 7.8), (len(PANELS), 1)), "no dataset was asked for in the window."), waits]
