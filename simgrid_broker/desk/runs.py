"""Runs and studies below the folder of results: their list, the page of each, and their files."""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from simgrid_broker.desk import questions, start
from simgrid_broker.desk.frame import Desk, address, desk_of, encoded, fields, moved, shown
from simgrid_broker.desk.jobs import part_done
from simgrid_broker.errors import InputFileError, Problem
from simgrid_broker.experiments.study import DONE, read_study
from simgrid_broker.experiments.study import FILE as STUDY
from simgrid_broker.files import MANIFEST, write_whole
from simgrid_broker.records import FAILURE, read_manifest
from simgrid_broker.records.progress import FILE as PROGRESS
from simgrid_broker.records.progress import read_progress
from simgrid_broker.report.blocks import REPORT, Link
from simgrid_broker.report.script import POLICY as REPORT_POLICY
from simgrid_broker.units import format_seconds

NOTES, QUESTIONS = "notes.txt", "questions.txt"
WRITTEN = {MANIFEST, STUDY, REPORT, NOTES, QUESTIONS, PROGRESS, FAILURE, "plots", "snapshots"}
"""Names, tables aside, that runs and this room write into the folder of a run."""
DEPTHS = ("*/", "*/*/", "*/*/*/")
"""Folders below that of results in which runs and studies are looked for."""
DAMAGED, PAGE = "damaged", "page"
TITLE = re.compile("<title>([^<]*)</title>")
HEADS = ["Folder", "Kind", "Scenario", "Seed", "Status", "Simulated", "Last written, UTC"]
AS_TEXT = (".txt", ".yaml", ".yml", ".json", ".csv", ".log")
PICTURES = {".svg": "image/svg+xml", ".png": "image/png", ".pdf": "application/pdf"}


@dataclass(frozen=True)
class Entry:
    """A folder with a run, a study or only the page of a comparison or a calibration.

    about: scenario, kind of study, or title of a page; seed: None for all but runs; message: why it cannot be read.
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
    """Runs, studies and pages below a folder, the newest first; runs of studies belong to these."""
    studies, runs, pages = ({path.parent for depth in DEPTHS for path in results.glob(depth + name)}
                            for name in (STUDY, MANIFEST, REPORT))
    alone = {folder for folder in (runs | pages) - studies if not studies & set(folder.parents)}
    visible = (folder for folder in studies | alone
               if not any(part.startswith(".") for part in folder.relative_to(results).parts))
    return sorted(map(entry, visible), key=lambda each: (-each.written_s, each.folder))


def entry(folder: Path) -> Entry:
    """The entry of a folder with a manifest or a study; damaged if that cannot be read."""
    path = next((folder / name for name in (STUDY, MANIFEST, REPORT) if (folder / name).exists()), folder / MANIFEST)
    try:
        written = path.stat()
    except OSError as error:
        return Entry(folder, "run", "", DAMAGED, 0.0, message=str(error))
    # runs of a study end while its own file stays as it is
    return _entry.__wrapped__(path, written.st_mtime_ns) if path.name == STUDY else _entry(path, written.st_mtime_ns)


@lru_cache(maxsize=4096)
def _entry(path: Path, written_ns: int) -> Entry:
    """As `entry`, read once for each time at which the file was written."""
    kind = {STUDY: "study", REPORT: PAGE}.get(path.name, "run")
    if kind == PAGE:
        return Entry(path.parent, kind, _title(path), "complete", written_ns / 1e9)
    try:
        return _study(path.parent, written_ns / 1e9) if kind == "study" else _run(path.parent, written_ns / 1e9)
    except (InputFileError, KeyError, TypeError, ValueError, AttributeError) as error:
        return Entry(path.parent, kind, "", DAMAGED, written_ns / 1e9, message=f"{type(error).__name__}: {error}")


def _title(page: Path) -> str:
    """Title of a page of results; empty where its beginning has none."""
    with open(page, encoding="utf-8", errors="replace") as file:
        found = TITLE.search(file.read(2000))
    return unescape(found[1]) if found else ""


def _run(folder: Path, written_s: float) -> Entry:
    manifest = read_manifest(folder)
    return Entry(folder, "run", str(manifest["scenario"]["name"]), manifest["status"], written_s,
                 int(manifest["seed"]), float(manifest["simulated_s"]), float(manifest["duration_s"]))


def _study(folder: Path, written_s: float) -> Entry:
    study = read_study(folder)
    state = f"{len(study.finished())} of {len(study.plan)} runs done"
    return Entry(folder, "study", str(study.manifest["kind"]), state, written_s)


def listed(request: Request) -> Response:
    """The list of runs and studies, those under way first."""
    desk = desk_of(request)
    places = {desk.places.place(each.folder): each for each in entries(desk.places.results)}
    under_way = start.progress_of(desk)
    rows = [_row(each, place, under_way.get(place)) for place, each in places.items()]
    found = [(place, encoded(places[place].kind, place) if place in places else "", seen)
             for place, seen in under_way.items()]
    return shown(request, "list.html", rows=pd.DataFrame(rows, columns=HEADS), results=desk.places.results,
                 under_way=found, live=start.signature(desk))


def _row(each: Entry, place: str, seen: Mapping[str, Any] | None) -> tuple:
    written = pd.Timestamp(each.written_s, unit="s").strftime("%Y-%m-%d %H:%M")
    simulated = "" if each.simulated_s != each.simulated_s else (
        f"{format_seconds(each.simulated_s)} of {format_seconds(each.duration_s)}")
    if seen and each.kind == "run":
        simulated = seen["words"].partition(",")[0]
    target = address("files", f"{place}/{REPORT}") if each.kind == PAGE else address(each.kind, place)
    status = each.status if each.status != "running" else "under way" if seen else "killed"
    return (Link(place.partition("/")[2], target), each.kind, each.about, "" if each.seed is None else str(each.seed),
            status, simulated, written)


def run_page(request: Request) -> Response:
    """The page of a run: its state, questions about it, its overlay on a base, notes, and its removal."""
    place, desk = request.path_params["place"], desk_of(request)
    folder = desk.places.path(place)
    one, progress = entry_or_refusal(folder), read_progress(folder)
    bases = [desk.places.place(each.folder) for each in entries(desk.places.results)
             if each.kind == "run" and each.status != DAMAGED and each.folder != folder]
    return shown(request, "run.html", place=place, entry=one, progress=progress, bases=bases, notes=notes_of(folder),
                 questions=questions_of(folder), has_report=(folder / REPORT).is_file(), live=start.signature(desk),
                 seen=start.progress_of(desk).get(place), may_remove=place.startswith("results/"),
                 kinds=questions.KINDS if one.status != DAMAGED else ())


def study_page(request: Request) -> Response:
    """The page of a study: its points, with links to those that are runs."""
    place, desk = request.path_params["place"], desk_of(request)
    folder = desk.places.path(place)
    points = read_study(folder).points()
    where = [Link(f"{row.group}/seed-{row.seed}", address("run", f"{place}/{row.group}/seed-{row.seed}"))
             if row.state == DONE else f"{row.group}/seed-{row.seed}" for row in points.itertuples()]
    rows = points.assign(folder=pd.Series(where, points.index, dtype=object)).drop(columns=["group", "seed"])
    rows = rows[["folder", *(name for name in rows.columns if name != "folder")]].rename(
        columns={"folder": "Run", "state": "State", "message": "Message"})
    return shown(request, "study.html", place=place, entry=entry(folder), rows=rows, notes=notes_of(folder),
                 questions=questions_of(folder), has_report=(folder / REPORT).is_file(), live=start.signature(desk),
                 part=part_done(folder), may_remove=place.startswith("results/"))


def notes_of(folder: Path) -> str:
    """Notes that are kept with a run or a study."""
    return _text(folder / NOTES)


def questions_of(folder: Path) -> list[tuple[str, str]]:
    """Questions that are kept with a run, the last first: name and address, of pages of questions alone."""
    lines = (line.partition("\t") for line in _text(folder / QUESTIONS).splitlines())
    return [(name, asked) for name, _, asked in lines if asked.startswith(tuple(
        f"/{kind}/" for kind in questions.KINDS))][::-1]


def _text(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return ""
    return path.read_text("utf-8", "replace")


async def keep_notes(request: Request) -> Response:
    """Keep notes with a run or a study."""
    text, place = (await fields(request)).get("notes", ""), request.path_params["place"]
    folder = desk_of(request).places.without_links(place)
    entry_or_refusal(folder)
    write_whole(folder / NOTES, text.replace("\r\n", "\n"))
    return moved(_page(folder, place))


async def keep_question(request: Request) -> Response:
    """Keep a question with a run."""
    given, place = await fields(request), request.path_params["place"]
    folder = desk_of(request).places.without_links(place)
    entry_or_refusal(folder)
    line = "\t".join(" ".join(given.get(name, "").split()) for name in ("label", "asked"))
    lines = [each for each in _text(folder / QUESTIONS).splitlines() if each != line]
    write_whole(folder / QUESTIONS, "\n".join([*lines, line]) + "\n")
    return moved(_page(folder, place))


async def remove(request: Request) -> Response:
    """Delete a run or a study, if its folder holds a manifest and is reached without a link."""
    place, desk = request.path_params["place"], desk_of(request)
    if (await fields(request)).get("sure") != "yes":
        raise InputFileError([Problem(place, None, "", None, "is deleted only if the box beside the button is ticked")])
    await run_in_threadpool(removed, desk.places.without_links(place), desk)
    return moved("/")


def removed(folder: Path, desk: Desk) -> None:
    """Delete the folder of a run or a study below the results; raises InputFileError."""
    one = entry_or_refusal(folder)
    if not folder.is_relative_to(desk.places.results):
        raise InputFileError([Problem(str(folder), None, "", None, "is not below the folder of results")])
    place = desk.places.place(folder)
    is_open = any(job.is_open and (job.place + "/").startswith(place + "/") for job in desk.queue.jobs())
    if is_open or read_progress(folder) is not None or any(
            read_progress(path.parent) is not None for path in folder.rglob(PROGRESS)):
        raise InputFileError([Problem(place, None, "", None, "is under way; cancel it first")])
    others = sorted(path.name for path in folder.iterdir() if not _is_written_by_runs(path))
    if one.status == DAMAGED and others:
        raise InputFileError([Problem(place, None, "", None, "has a damaged manifest, and files that no run writes: "
                                      + ", ".join(others[:3]))])
    shutil.rmtree(folder)                                                   # it follows no links
    if folder.parent != desk.places.results and not any(folder.parent.iterdir()):
        folder.parent.rmdir()


def entry_or_refusal(folder: Path) -> Entry:
    """The entry of a folder; raises InputFileError if it holds no manifest of its own."""
    if not any((folder / name).is_file() and not (folder / name).is_symlink() for name in (MANIFEST, STUDY)):
        raise InputFileError([Problem(str(folder), None, "", None, f"holds no {MANIFEST} and no {STUDY}")])
    return entry(folder)


def _is_written_by_runs(path: Path) -> bool:
    return path.suffix == ".parquet" or path.name.startswith(".") or path.name in WRITTEN


def _page(folder: Path, place: str) -> str:
    return encoded("study" if (folder / STUDY).is_file() else "run", place)


def file(request: Request) -> Response:
    """A file below a folder that may be read; a folder leads to its page.

    The policy of a page of results runs the script of this version of reports alone, whatever the file holds.
    """
    place = request.path_params["place"]
    path = desk_of(request).places.path(place)
    if path.is_dir():
        return moved(_page(path, place.rstrip("/")))
    if path.suffix == ".html":
        return FileResponse(path, media_type="text/html", headers={"Content-Security-Policy": REPORT_POLICY})
    if path.suffix in AS_TEXT:
        return FileResponse(path, media_type="text/plain; charset=utf-8")
    kind = PICTURES.get(path.suffix)
    return FileResponse(path, media_type=kind or "application/octet-stream", filename=None if kind else path.name,
                        headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"})


ROUTES = (Route("/", listed), Route("/run/{place:path}", run_page), Route("/study/{place:path}", study_page),
          Route("/files/{place:path}", file), Route("/notes/{place:path}", keep_notes, methods=["POST"]),
          Route("/keep/{place:path}", keep_question, methods=["POST"]),
          Route("/remove/{place:path}", remove, methods=["POST"]))
LINKS = (("Runs", "/"),)
