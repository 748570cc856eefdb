"""Runs and studies below the folder of results: their list, the page of each, and their files."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from simgrid_broker.desk.frame import address, desk_of, moved, shown
from simgrid_broker.errors import InputFileError
from simgrid_broker.experiments.study import FILE as STUDY
from simgrid_broker.experiments.study import read_study
from simgrid_broker.files import MANIFEST
from simgrid_broker.records import read_manifest
from simgrid_broker.report.blocks import Link
from simgrid_broker.report.script import POLICY as REPORT_POLICY
from simgrid_broker.units import format_seconds

REPORT = "report.html"
DEPTHS = ("*/", "*/*/", "*/*/*/")
"""Folders below that of results in which runs and studies are looked for."""
DAMAGED = "damaged"
HEADS = ["Folder", "Kind", "Scenario", "Seed", "Status", "Simulated", "Last written, UTC"]
AS_TEXT = (".txt", ".yaml", ".yml", ".json", ".csv", ".log")
PICTURES = {".svg": "image/svg+xml", ".png": "image/png", ".pdf": "application/pdf"}


@dataclass(frozen=True)
class Entry:
    """A folder with a run or a study: its path, kind, scenario or question, seed, status, and the time simulated.

    seed: None for a study; message: why it cannot be read.
    """

    folder: Path
    kind: str
    about: str
    status: str
    written_s: float
    seed: int | None = None
    simulated_s: float = float("nan")
    duration_s: float = float("nan")
    message: str = ""


def entries(results: Path) -> list[Entry]:
    """Runs and studies below a folder, the newest first; runs of studies belong to these."""
    studies = {path.parent for depth in DEPTHS for path in results.glob(depth + STUDY)}
    runs = {path.parent for depth in DEPTHS for path in results.glob(depth + MANIFEST)}
    alone = {folder for folder in runs - studies if not studies & set(folder.parents)}
    visible = (folder for folder in studies | alone
               if not any(part.startswith(".") for part in folder.relative_to(results).parts))
    return sorted(map(entry, visible), key=lambda each: (-each.written_s, each.folder))


def entry(folder: Path) -> Entry:
    """The entry of a folder with a manifest or a study; damaged if that cannot be read."""
    path = folder / (STUDY if (folder / STUDY).exists() else MANIFEST)
    try:
        written = path.stat()
    except OSError as error:
        return Entry(folder, "run", "", DAMAGED, 0.0, message=str(error))
    return _entry(path, written.st_mtime_ns)


@lru_cache(maxsize=4096)
def _entry(path: Path, written_ns: int) -> Entry:
    """As `entry`, read once for each time at which the file was written."""
    kind = "study" if path.name == STUDY else "run"
    try:
        return _study(path.parent, written_ns / 1e9) if kind == "study" else _run(path.parent, written_ns / 1e9)
    except (InputFileError, KeyError, TypeError, ValueError, AttributeError) as error:
        return Entry(path.parent, kind, "", DAMAGED, written_ns / 1e9, message=f"{type(error).__name__}: {error}")


def _run(folder: Path, written_s: float) -> Entry:
    manifest = read_manifest(folder)
    return Entry(folder, "run", str(manifest["scenario"]["name"]), manifest["status"], written_s,
                 int(manifest["seed"]), float(manifest["simulated_s"]), float(manifest["duration_s"]))


def _study(folder: Path, written_s: float) -> Entry:
    study = read_study(folder)
    return Entry(folder, "study", str(study.manifest["kind"]), f"{len(study.plan)} runs", written_s)


def listed(request: Request) -> Response:
    """The list of runs and studies."""
    desk = desk_of(request)
    rows = [_row(each, desk.places.place(each.folder)) for each in entries(desk.places.results)]
    return shown(request, "list.html", rows=pd.DataFrame(rows, columns=HEADS), results=str(desk.places.results))


def _row(each: Entry, place: str) -> tuple:
    written = pd.Timestamp(each.written_s, unit="s").strftime("%Y-%m-%d %H:%M")
    simulated = "" if each.simulated_s != each.simulated_s else (
        f"{format_seconds(each.simulated_s)} of {format_seconds(each.duration_s)}")
    return (Link(place.partition("/")[2], address(each.kind, place)), each.kind, each.about,
            "" if each.seed is None else str(each.seed), each.status, simulated, written)


def run_page(request: Request) -> Response:
    """The page of a run."""
    place = request.path_params["place"]
    folder = desk_of(request).places.path(place)
    return shown(request, "run.html", place=place, entry=entry(folder), has_report=(folder / REPORT).is_file())


def study_page(request: Request) -> Response:
    """The page of a study: its points, with links to those that are runs."""
    place = request.path_params["place"]
    desk = desk_of(request)
    folder = desk.places.path(place)
    points = read_study(folder).points()
    where = [Link(f"{row.group}/seed-{row.seed}", address("run", f"{place}/{row.group}/seed-{row.seed}"))
             for row in points.itertuples()]
    rows = points.assign(folder=pd.Series(where, points.index, dtype=object)).drop(columns=["group", "seed"])
    return shown(request, "study.html", place=place, entry=entry(folder), rows=rows,
                 has_report=(folder / REPORT).is_file())


def file(request: Request) -> Response:
    """A file below a folder that may be read; a folder leads to its page.

    The policy of a page of results runs the script of this version of reports alone, whatever the file holds.
    """
    place = request.path_params["place"]
    path = desk_of(request).places.path(place)
    if path.is_dir():
        return moved(address("study" if (path / STUDY).is_file() else "run", place.rstrip("/")))
    if path.suffix == ".html":
        return FileResponse(path, media_type="text/html", headers={"Content-Security-Policy": REPORT_POLICY})
    if path.suffix in AS_TEXT:
        return FileResponse(path, media_type="text/plain; charset=utf-8")
    kind = PICTURES.get(path.suffix)
    return FileResponse(path, media_type=kind or "application/octet-stream", filename=None if kind else path.name,
                        headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"})


ROUTES = (Route("/", listed), Route("/run/{place:path}", run_page), Route("/study/{place:path}", study_page),
          Route("/files/{place:path}", file))
LINKS = (("Runs", "/"),)
