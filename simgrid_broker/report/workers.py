"""The table of workers in the section about cores."""

from simgrid_broker import metrics
from simgrid_broker.metrics import wide
from simgrid_broker.records import Run
from simgrid_broker.report.blocks import Block, Note, TableBlock

MOST_ROWS = 20


def worker_table(run: Run) -> Block:
    """Workers of the queues and types whose slots were held longest."""
    table = wide(metrics.workers(run))
    if not len(table):
        return Note("No worker was submitted in the window.")
    held = table.used_core_h + table.idle_core_h + table.wasted_core_h
    shown = table.loc[held.sort_values(ascending=False, kind="stable").index[:MOST_ROWS]]
    return TableBlock(
        "Workers", shown, f"The {MOST_ROWS} queues and resource types whose workers held most core hours. Missed: could"
        " not be submitted; empty: left without having had a job. Idle: core hours of slots without a payload; wasted: "
        "of cores of a slot, or of a whole node, that its payload does not use.")
