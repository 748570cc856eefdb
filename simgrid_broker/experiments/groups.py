"""Groups of runs to be compared: recorded runs, folders of runs, and scenarios that are run with several seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from simgrid_broker.experiments.figures import figures
from simgrid_broker.experiments.study import FILE, Study, read_study
from simgrid_broker.records import Run, read_run
from simgrid_broker.records.manifest import MANIFEST
from simgrid_broker.report.comparison import settings_of
from simgrid_broker.report.settings import ABSENT, differing


@dataclass(frozen=True)
class Group:
    """Runs that are to differ in their seeds only."""

    name: str
    runs: tuple[Run, ...]

    def results(self) -> pd.DataFrame:
        """A row for each figure of each run: group, seed, figure, value, unit, window."""
        return pd.concat([figures(run).assign(group=self.name, seed=run.manifest["seed"]) for run in self.runs],
                         ignore_index=True)[["group", "seed", "figure", "value", "unit", "window"]]

    def seeds(self) -> list[int]:
        """The seeds of the runs, ascending, each once."""
        return sorted({run.manifest["seed"] for run in self.runs})

    def mixed(self) -> list[str]:
        """Dotted keys of settings, other than the seed, in which its runs differ."""
        first = settings_of(self.runs[0])
        return list(dict.fromkeys(key for run in self.runs[1:] for key, *_ in differing(first, settings_of(run))
                                  if key != "seed"))


def recorded(folder: Path) -> list[tuple[str, tuple[Run, ...]]]:
    """Groups in a folder, each with a name to add to that of the folder: one run, the groups of a study, or all runs
    below it. Raises InputFileError if there are none.
    """
    folder = Path(folder)
    if (folder / MANIFEST).is_file():
        return [("", (read_run(folder),))]
    if (folder / FILE).is_file():
        return of_study(read_study(folder))
    below = sorted({path.parent for depth in ("*/", "*/*/") for path in folder.glob(depth + MANIFEST)})
    return [("", tuple(read_run(path) for path in below) if below else (read_run(folder),))]


def of_study(study: Study) -> list[tuple[str, tuple[Run, ...]]]:
    """The finished runs of a study by its groups."""
    by_group: dict[str, list[Run]] = {}
    for point in study.finished():
        by_group.setdefault(point.group, []).append(study.run(point))
    return [(name if len(by_group) > 1 else "", tuple(runs)) for name, runs in by_group.items()]


def setting_table(groups: Sequence[Group]) -> pd.DataFrame:
    """Settings in which groups differ from the first: key, and the value of each group."""
    first, rows = settings_of(groups[0].runs[0]), dict[str, dict[str, Any]]()
    for group in groups[1:]:
        for key, base, other in differing(first, settings_of(group.runs[0])):
            if key != "seed":
                rows.setdefault(key, {groups[0].name: base})[group.name] = other
    for key, values in rows.items():
        for group in groups[1:]:
            values.setdefault(group.name, values[groups[0].name])
        rows[key] = {"key": key, **values}
    return pd.DataFrame(rows.values(), columns=["key", *(group.name for group in groups)]).fillna(ABSENT)


def scenario_names(groups: Sequence[Group]) -> list[str]:
    """Names of the scenarios of the groups, each once."""
    return list(dict.fromkeys(run.manifest["scenario"]["name"] for group in groups for run in group.runs))
