"""Work of one worker: run one point of a study into its folder."""

import shutil
import traceback
from pathlib import Path
from typing import NamedTuple

from simgrid_broker.engine import simulate
from simgrid_broker.errors import SimgridBrokerError
from simgrid_broker.experiments.figures import figures
from simgrid_broker.experiments.points import DONE, FAILED, Point, keep, keep_message, state_of, unfinished_folder
from simgrid_broker.report import write_report
from simgrid_broker.scenario import Scenario


class Common(NamedTuple):
    """Values common to all points of a study: folder, scenarios, and pages, true if each run gets a report."""

    folder: Path
    scenarios: tuple[Scenario, ...]
    pages: bool = False


def run_point(common: Common, point: Point) -> tuple[str, str]:
    """Run a point unless it is finished; what became of it, and the message if it failed."""
    if state_of(point, common.folder)[0] == DONE:
        return DONE, ""
    written = unfinished_folder(point, common.folder)
    shutil.rmtree(written, ignore_errors=True)
    try:
        scenario = scenario_of(point, common.scenarios)
        run = simulate(scenario, folder=written)
        figures(run)
        if common.pages:
            write_report(run)
        keep(written, point, common.folder)
    except (SimgridBrokerError, MemoryError) as error:
        return _failed(str(error) or type(error).__name__, written, point, common.folder)
    except Exception:
        return _failed(traceback.format_exc().rstrip(), written, point, common.folder)
    return DONE, ""


def scenario_of(point: Point, scenarios: tuple[Scenario, ...]) -> Scenario:
    """The scenario of a point: that of the study with the point's settings and seed. Raises ScenarioError."""
    return scenarios[point.scenario].with_values({**point.settings, "seed": point.seed})


def _failed(message: str, written: Path, point: Point, folder: Path) -> tuple[str, str]:
    shutil.rmtree(written, ignore_errors=True)
    keep_message(message, point, folder)
    return FAILED, message
