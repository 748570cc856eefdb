"""The report of one run: report.html and plots/ in the run's folder."""

from collections.abc import Callable, Iterable
from pathlib import Path

from simgrid_broker.records import Run, write_whole
from simgrid_broker.report.blocks import save_plot
from simgrid_broker.report.context import context
from simgrid_broker.report.page import page
from simgrid_broker.report.sections import SECTIONS


def write_report(run: Run, steps: Callable[[Iterable], Iterable] = iter) -> Path:
    """Write the report of `run` into its folder and return the path of report.html; raises OutputError.

    steps: wraps the iterable of sections, for example tqdm, to show progress.
    """
    view = context(run)
    sections = (section(view) for section in steps(SECTIONS))
    scenario = run.manifest["scenario"]
    plots = run.folder / "plots"
    versions = ", ".join(f"{name} {version}" for name, version in run.manifest["versions"].items())
    text = page(f"{scenario['name']}: {run.folder.resolve().name}",
                scenario.get("description") or "A simulated run of PanDA/JEDI.", sections,
                lambda plot: save_plot(plot, plots),
                f"Made from {run.name} ({versions}). Plots and their tables are also in plots/.")
    return write_whole(run.folder / "report.html", text)
