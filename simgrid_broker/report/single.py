"""The report of one run: plots/*.png, plots/*.csv and report.html in the run's folder.

What lives here: the writing of it. What does not: what it shows (`sections`).
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from simgrid_broker.records import Run, write_whole
from simgrid_broker.report.blocks import save_plot
from simgrid_broker.report.context import context
from simgrid_broker.report.page import page
from simgrid_broker.report.sections import SECTIONS


def write_report(run: Run, steps: Callable[[Iterable], Iterable] = iter) -> Path:
    """Write the report of `run` into its folder and return the path of report.html; raises OutputError.

    steps: wraps what is worked through one after another, to tell how far it is; tqdm does, for one.
    """
    view = context(run)
    sections = (section(view) for section in steps(SECTIONS))
    scenario = run.manifest["scenario"]
    plots = run.folder / "plots"
    versions = ", ".join(f"{name} {version}" for name, version in run.manifest["versions"].items())
    text = page(f"{scenario['name']}: {run.folder.resolve().name}",
                scenario.get("description") or "A simulated run of PanDA/JEDI.", sections,
                lambda plot: save_plot(plot, plots),
                f"Made from {run.name} ({versions}). Pictures and their tables also stand in plots/.")
    return write_whole(run.folder / "report.html", text)
