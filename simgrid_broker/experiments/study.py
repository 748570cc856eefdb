"""A study on disk: `study.json` says what was asked; each point is a run with its settings, its seed and a folder;
and the effect of what it varies on a figure, drawn for a paper."""

import hashlib
import json
import os
import platform
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from html import escape
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from simgrid_broker.errors import InputFileError, Problem, StudyError, nearest
from simgrid_broker.experiments.figures import differences, figures_in
from simgrid_broker.experiments.intervals import student
from simgrid_broker.notebook import shares_html
from simgrid_broker.records import Run, read_manifest, read_run, write_whole
from simgrid_broker.records.manifest import MANIFEST
from simgrid_broker.report.blocks import drawn_by
from simgrid_broker.report.settings import differing
from simgrid_broker.report.words import SUMMARY_LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN = (3.4, 2.5)
"""Inches of a figure in one column of a paper."""


def effect_plot(results: pd.DataFrame, varied: list[str], figure: str, key: str | None = None,
                path: str | Path | None = None, size: tuple[float, float] = COLUMN) -> "Figure":
    """Figure of a study over a setting with 95 % intervals, or of its differences between groups without settings.

    results, varied: of a `Study`; key: default: the first setting, over all values of the others. With `path` it is
    written there, as vectors for .pdf and .svg. Raises StudyError for a figure or key that the study does not have.
    """
    part = results[results.figure == figure].dropna(subset="value")
    if not len(part):
        raise StudyError([Problem(None, None, "figure", figure, "no finished run of the study has a value of it",
                                  nearest(figure, list(dict.fromkeys(results.figure))))])
    if key is not None and key not in varied:
        raise StudyError([Problem(None, None, "key", key, "is no setting of the study", nearest(key, varied))])
    label = f"{SUMMARY_LABELS.get(figure, figure)} ({part.unit.iloc[0]})" if part.unit.iloc[0] else figure
    draw, table = _over_key(part, key or varied[0], label) if varied else _by_group(part, figure, label)
    layout: Any = import_module("simgrid_broker.report.drawing.layout")
    return layout.for_print(draw, table, size, path)


def _over_key(part: pd.DataFrame, key: str, label: str) -> tuple[Any, pd.DataFrame]:
    """Means at each value of a setting; those over the other settings come first, for each seed."""
    means = part.groupby([key, "seed"], sort=False).value.mean()
    rows = [{key: value, "line": "", **student(means[value].to_numpy()).columns()}
            for value in dict.fromkeys(part[key])]
    return drawn_by("studies.response", x=key, ylabel=label), pd.DataFrame(rows)


def _by_group(part: pd.DataFrame, figure: str, label: str) -> tuple[Any, pd.DataFrame]:
    """Differences of each group from the first."""
    base = part.group.iloc[0]
    table = differences(part, base, (figure,)).rename(columns={"group": "name", "difference": "value"})
    if not len(table):
        raise StudyError([Problem(None, None, "figure", figure, "the study has one group of runs without varied "
                                  "settings, so there is no effect to draw")])
    return drawn_by("studies.forest", xlabel=f"{label}, less {base}"), table.assign(group="difference")


DONE, FAILED, OPEN = "done", "failed", "open"
"""States of a point: open = not run yet, or interrupted."""


@dataclass(frozen=True)
class Point:
    """One run of a study: a scenario of the study by its position, settings by dotted key laid over it, and the seed.

    group: points that differ in the seed only; a folder of the study.
    """

    group: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    scenario: int = 0

    def folder(self, study: Path) -> Path:
        """The folder of the run."""
        return Path(study) / self.group / f"seed-{self.seed}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON has them."""
        return {"group": self.group, "seed": self.seed, "settings": dict(self.settings), "scenario": self.scenario}


def folder_name(text: str) -> str:
    """A text as the name of a folder: characters other than letters, digits, `_`, `.`, `+` and `-` become `-`."""
    return re.sub(r"[^\w.+-]+", "-", text).strip("-.") or "points"


def state_of(point: Point, study: Path) -> tuple[str, str]:
    """State of a point, and the message if it failed."""
    folder = point.folder(study)
    if _is_complete(folder):
        return DONE, ""
    message = _message_file(folder)
    return (FAILED, message.read_text(encoding="utf-8").rstrip()) if message.is_file() else (OPEN, "")


def unfinished_folder(point: Point, study: Path) -> Path:
    """A hidden folder next to that of the run, in which it is written until it is complete."""
    folder = point.folder(study)
    return folder.with_name(f".{folder.name}.{platform.node()}-{os.getpid()}")


def keep(written: Path, point: Point, study: Path) -> None:
    """Give a complete run its folder; one that was finished meanwhile by another worker stays."""
    folder = point.folder(study)
    if _is_complete(folder):
        shutil.rmtree(written)
        return
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(written, folder)
    _message_file(folder).unlink(missing_ok=True)


def keep_message(message: str, point: Point, study: Path) -> None:
    """Record why a point failed, in `seed-N.failed.txt` next to where its folder would be."""
    write_whole(_message_file(point.folder(study)), message + "\n")


def clear_unfinished(study: Path) -> None:
    """Delete what interrupted runs left."""
    for folder in Path(study).glob("*/.seed-*"):
        shutil.rmtree(folder, ignore_errors=True)


def same(value: Any) -> str:
    """A value as text that is equal for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _is_complete(folder: Path) -> bool:
    try:
        written = (folder / MANIFEST).stat()
    except OSError:
        return False
    return _status(folder, written.st_mtime_ns) == "complete"


@lru_cache(maxsize=1 << 17)
def _status(folder: Path, written_ns: int) -> str:
    """Status of a run with a manifest of that moment, which is read once for each; empty if it cannot be read."""
    try:
        return str(read_manifest(folder)["status"])
    except InputFileError:
        return ""


def _message_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.failed.txt")


FILE = "study.json"
MOST_DRAWN = 4
"""Groups whose shares a notebook draws."""
MOST_SHOWN = 5
"""Differing values that a refusal names; the others are counted."""


class Study:
    """A study on disk, finished or not; its tables are DataFrames."""

    def __init__(self, folder: Path, plan: Iterable[Point] | None = None):
        """plan: some of the points of the study, default all."""
        self.folder = Path(folder)
        self.manifest = _read(self.folder)
        self.plan = tuple(Point(**point) for point in self.manifest["points"]) if plan is None else tuple(plan)

    def __repr__(self) -> str:
        states = self.points().state.value_counts()
        return f"<{self.manifest['kind']} in {self.folder}: " + ", ".join(
            f"{number} {state}" for state, number in states.items()) + ">"

    def _repr_html_(self) -> str:
        table = self.points().groupby(["group", "state"], sort=False).seed.agg(["size", "min", "max"]).reset_index()
        return (f"<p><b>{escape(self.manifest['kind'])}</b> {escape(str(self.folder))}</p>" + table.to_html(index=False)
                + self._shares_html())

    def _shares_html(self) -> str:
        """Mean power of each share in the runs of each group, at most MOST_DRAWN, in bars."""
        results = self.results()
        found = results[results.figure.str.startswith("shares.")].copy()
        names = found.figure.str.removeprefix("shares.").str.rpartition(".")
        found["share"], found["metric"] = names[0], names[2]
        pieces = []
        for group, part in list(found.groupby("group", sort=False))[:MOST_DRAWN]:
            means = part.pivot_table("value", "share", "metric", sort=False)
            if {"target", "delivered"} <= set(means):
                pieces.append(f"<p>{escape(str(group))}</p>" + shares_html(
                    (str(row.Index), 1, row.target, row.delivered) for row in means.itertuples()))
        return "".join(pieces)

    def points(self) -> pd.DataFrame:
        """A row for each point: group, seed, a column for each setting, state, message, folder."""
        rows = []
        for point in self.plan:
            state, message = state_of(point, self.folder)
            rows.append({"group": point.group, "seed": point.seed, **point.settings, "state": state,
                         "message": message, "folder": str(point.folder(self.folder))})
        return pd.DataFrame(rows)

    def finished(self) -> tuple[Point, ...]:
        """The points with a complete run."""
        return tuple(point for point in self.plan if state_of(point, self.folder)[0] == DONE)

    def run(self, point: Point) -> Run:
        """The run of a point."""
        return read_run(point.folder(self.folder))

    def results(self) -> pd.DataFrame:
        """A row for each figure of each finished point: group, settings, seed, figure, value, unit, window."""
        return self.results_of(self.finished())

    def results_of(self, points: Iterable[Point]) -> pd.DataFrame:
        """A row for each figure of some finished points; columns as in `results`."""
        tables = [figures_in(point.folder(self.folder)).assign(
            group=point.group, seed=point.seed, **settings_columns(point)) for point in points]
        columns = ["group", *self.varied(), "seed", "figure", "value", "unit", "window"]
        if not tables:
            return pd.DataFrame(columns=columns)
        return pd.concat(tables, ignore_index=True).reindex(columns=columns)

    def plot_effect(self, figure: str, key: str | None = None, path: str | Path | None = None,
                    size: tuple[float, float] = COLUMN) -> "Figure":
        """A figure over a setting, or its differences between groups, with intervals: see `effects.effect_plot`."""
        return effect_plot(self.results(), self.varied(), figure, key, path, size)

    def varied(self) -> list[str]:
        """Dotted keys of all settings of the points."""
        return list(dict.fromkeys(key for point in self.plan for key in point.settings))


def read_study(folder: str | Path) -> Study:
    """The study in `folder`. Raises InputFileError."""
    return Study(Path(folder))


def begin(folder: Path, kind: str, definition: Mapping[str, Any], points: Iterable[Point]) -> Study:
    """Make a study of some points, or continue the one in `folder`, which keeps what else it has.

    A point whose settings that one has takes its name, so that nothing is run twice. Raises StudyError if that one
    asks something else, or if the folder holds anything else.
    """
    folder, wanted = Path(folder), _as_json(kind, definition)
    refuse_changes(folder, kind, definition)
    before = Study(folder).plan if (folder / FILE).is_file() else ()
    asked = _renamed(tuple(points), before)
    plan = {(point.group, point.seed): point.to_dict() for point in (*before, *asked)}
    write_whole(folder / FILE, json.dumps({
        "kind": kind, "hash": hash_of(wanted), "definition": wanted, "points": list(plan.values())},
        indent=1, ensure_ascii=False, default=str) + "\n")
    return Study(folder, asked)


def _renamed(points: Sequence[Point], before: Sequence[Point]) -> list[Point]:
    """The points, those with the settings of earlier ones by the names of these, others by free names."""
    names = {_settings_of(point): point.group for point in before}
    taken, free = set(names.values()), count(len(names) + 1)
    for point in points:
        if (key := _settings_of(point)) not in names:
            name = point.group if point.group not in taken else next(
                name for name in (f"p{number:04d}" for number in free) if name not in taken)
            names[key] = name
            taken.add(name)
    return [replace(point, group=names[_settings_of(point)]) for point in points]


def _settings_of(point: Point) -> tuple[int, str]:
    return point.scenario, same(dict(point.settings))


def hash_of(definition: Mapping[str, Any]) -> str:
    """SHA-256 of what a study asks, the same for the same content in another order or layout."""
    return hashlib.sha256(same(definition).encode()).hexdigest()


def refuse_changes(folder: Path, kind: str, definition: Mapping[str, Any]) -> None:
    """Raise StudyError if `folder` holds a study that asks something else, naming what differs, or anything else."""
    folder = Path(folder)
    if (folder / FILE).is_file():
        before, wanted = _read(folder)["definition"], _as_json(kind, definition)
        if hash_of(before) != hash_of(wanted):
            raise StudyError(_changes(folder, list(differing(before, wanted))))
    elif folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise StudyError([Problem(str(folder), None, "", None, f"is not empty and has no {FILE}; name another folder "
                                  "with --out")])


def _changes(folder: Path, changes: Sequence[tuple[str, str, str]]) -> list[Problem]:
    """A problem for each value with which the study was not begun, and what to do."""
    problems = [Problem(str(folder / FILE), None, key, now, f"the study in this folder was begun with {then}")
                for key, then, now in changes[:MOST_SHOWN]]
    more = f", and {len(changes) - MOST_SHOWN} more values differ" if len(changes) > MOST_SHOWN else ""
    return [*problems, Problem(str(folder), None, "", None, f"runs of two different studies would be mixed{more}; take "
                               "the change back, name another folder with --out, or delete this one")]


def _as_json(kind: str, definition: Mapping[str, Any]) -> dict[str, Any]:
    """Definition of a study as its file holds it."""
    return json.loads(json.dumps({"kind": kind, **definition}, default=str))


def _read(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        near = sorted(str(other.parent) for other in folder.parent.glob(f"*/{FILE}")) if folder.parent.is_dir() else []
        raise InputFileError([Problem(str(folder), None, "", None, f"is not a study ({FILE}: {error.strerror})",
                                      nearest(str(folder), near))]) from error
    except ValueError as error:
        raise InputFileError([Problem(str(path), None, "", None, f"is not JSON: {error}")]) from error
    if not isinstance(content, dict) or not {"kind", "hash", "definition", "points"} <= content.keys():
        raise InputFileError([Problem(str(path), None, "", None, "does not describe a study")])
    return content


def settings_columns(point: Point) -> dict[str, Any]:
    """Settings of a point as values of columns: lists and mappings as text."""
    return {key: value if isinstance(value, (int, float, str, bool)) or value is None else same(value)
            for key, value in point.settings.items()}
