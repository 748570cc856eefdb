"""The part of the report on what the data carousel brings from tape."""

from simgrid_broker import metrics
from simgrid_broker.report.blocks import Block, Plot, drawn_by, plot_or_note
from simgrid_broker.report.context import Context

PANELS = {"waiting": "waiting (TB)", "staging": "staging (TB)", "done": "done (TB)"}


def staging_blocks(view: Context) -> list[Block]:
    """Progress of requests by tape; nothing where no dataset was asked for from tape."""
    table = view.over_time(metrics.staging_series(view.run))
    if not len(table):
        return []
    return [plot_or_note(Plot(
        "staging", "Datasets from tape", table, drawn_by("staging_figures.progress", panels=PANELS, marks=view.marks),
        "Size of the datasets that tasks asked for, by physical tape. Waiting: the quota of the tape does not allow it "
        "yet; staging: waits for a drive, is read or on its way to disk; done: all on disk, summed from the start.",
        (10, 6.0), (len(PANELS), 1)), "no dataset was asked for in the window.")]
