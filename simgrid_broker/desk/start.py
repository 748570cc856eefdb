"""Runs and studies that are started here: the form, the queue with its progress, logs, and overlays on a base."""

import asyncio
import hashlib
import json
import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from simgrid_broker.advice import refuse_unusable
from simgrid_broker.desk.frame import Desk, address, desk_of, fields, moved, shown
from simgrid_broker.desk.jobs import Job, part_of
from simgrid_broker.desk.uploads import scenario_files
from simgrid_broker.errors import InputFileError, Problem
from simgrid_broker.experiments.study import FILE as STUDY
from simgrid_broker.experiments.study import folder_name
from simgrid_broker.experiments.study_file import seeds_of
from simgrid_broker.files import MANIFEST, reading_only, refuse_outside
from simgrid_broker.records import new_run_folder, read_manifest
from simgrid_broker.records.progress import FILE as PROGRESS
from simgrid_broker.records.progress import read_progress
from simgrid_broker.report.blocks import REPORT
from simgrid_broker.scenario import Scenario, load_scenario
from simgrid_broker.units import format_seconds

KINDS = {"run": "one run", "replicate": "several seeds: figures with intervals",
         "against": "several seeds with the settings, against several without: differences with intervals",
         "sweep": "all combinations of some values, each with several seeds"}
UNUSED = {"run": ("vary", "figures"), "replicate": ("seed", "vary"), "against": ("seed", "vary"), "sweep": ("seed",)}
"""Fields that have no effect on each kind, so that they have to be empty."""
SEEDS = "5"


def form(request: Request) -> Response:
    """The form for a run or a study, filled from the query."""
    desk = desk_of(request)
    values = dict.fromkeys(("seed", "until", "settings", "vary", "figures"), "")
    values |= {"scenario": "scenarios/quickstart.yaml", "kind": "run", "seeds": SEEDS}
    values |= {name: value for name, value in request.query_params.items() if name in values}
    places = dict.fromkeys([values["scenario"], *sorted(scenario_files(desk))])
    return shown(request, "start.html", values=values, kinds=KINDS, scenarios=list(places))


async def start(request: Request) -> Response:
    """Put a run or a study into the queue."""
    given = await fields(request)
    job = await run_in_threadpool(queued, desk_of(request), given)
    return moved(f"/job/{job.name}")


def queued(desk: Desk, given: Mapping[str, str]) -> Job:
    """The job that the form describes, in the queue. Raises ScenarioError, InputFileError."""
    path, kind = desk.places.path(given.get("scenario", "")), given.get("kind", "run")
    if kind not in KINDS:
        raise InputFileError([Problem(None, None, "kind", kind, f"expected one of {', '.join(KINDS)}")])
    if filled := [name for name in UNUSED[kind] if given.get(name, "").strip()]:
        raise InputFileError([Problem(None, None, name, given[name].strip(), "has no effect on "
                                      f"{KINDS[kind].partition(':')[0]}; empty it, or choose another kind")
                              for name in filled])
    vary, seeds = _lines(given, "vary"), given.get("seeds", "").strip() or SEEDS
    if kind == "sweep" and not vary:
        raise InputFileError([Problem(None, None, "vary", None, "a sweep needs a line with a setting and its values, "
                                      "such as shares.Analysis.value=10,20,40")])
    if kind in ("replicate", "sweep"):
        _refuse_seeds(seeds)
    seed, until, settings = _number(given, "seed"), given.get("until", "").strip() or None, _lines(given, "settings")
    with reading_only(desk.places.folders.values()):
        scenario = load_scenario(path, seed, until, settings)
        refuse_unusable(scenario)
        _refuse_trace_outside(scenario)
    lasting = [f"--until={until}"] if until else []
    options = [*lasting, *(f"--set={one}" for one in settings)]
    if kind == "run":
        folder = new_run_folder(desk.places.results, scenario.name, scenario.seed)
        with_seed = [f"--seed={seed}"] if seed is not None else []
        return desk.queue.add(f"run {scenario.name}, seed {scenario.seed}", [
            ["run", f"--into={folder}", *with_seed, *options, "--", str(path)]], desk.places.place(folder))
    figures = [f"--figure={one}" for one in _lines(given, "figures")]
    if kind == "against":
        sides = [[*lasting, "--", str(path)], [*options, "--", str(path)]]
        return against(desk, folder_name(scenario.name), sides, seeds, figures)
    study = _free_folder(desk, f"{folder_name(scenario.name)}-{kind}")
    more = [f"--vary={one}" for one in vary]
    if kind == "sweep":
        options = [f"--set=duration={until}", *options[1:]] if until else options
    return desk.queue.add(f"{kind} {scenario.name}", [
        [kind, f"--seeds={seeds}", *_workers(desk), *options, *more, *figures, f"--out={study}", "--", str(path)]],
        desk.places.place(study), desk.queue.cores)


def _refuse_seeds(seeds: str) -> None:
    """Raise InputFileError for a text that names no seeds."""
    try:
        seeds_of(seeds)
    except ValueError as error:
        raise InputFileError([Problem(None, None, "seeds", seeds, str(error))]) from None


def _refuse_trace_outside(scenario: Scenario) -> None:
    """Raise InputFileError for recorded work outside the folders that may be read; a run opens it, not the loader."""
    trace = scenario.workload.trace
    if trace is None:
        return
    try:
        refuse_outside(trace.file)
    except OSError as error:
        problem = Problem(None, None, "workload.trace.file", str(trace.file), str(error.strerror))
        raise InputFileError([problem]) from error


def against(desk: Desk, name: str, sides: list[list[str]], seeds: str, figures: Sequence[str] = ()) -> Job:
    """Two scenarios, the base first, each with several seeds, and their differences with intervals.

    Raises InputFileError for a text that names no seeds.
    """
    _refuse_seeds(seeds)
    folders = [_free_folder(desk, f"{name}-{side}-seeds") for side in ("base", "changed")]
    result = _free_folder(desk, f"{name}-against-base")
    runs = [["replicate", f"--seeds={seeds}", *_workers(desk), f"--out={folder}", *side]
            for folder, side in zip(folders, sides, strict=True)]
    compare = ["compare", *figures, f"--out={result}", "--", *map(str, folders)]
    return desk.queue.add(f"{name} against its base, {seeds} seeds", [*runs, compare], desk.places.place(result),
                          desk.queue.cores)


def _workers(desk: Desk) -> list[str]:
    return [f"--workers={desk.queue.cores}"]


async def overlay(request: Request) -> Response:
    """Put the comparison of a run with its base into the queue: of both runs, or with several seeds of each."""
    given = await fields(request)
    job = await run_in_threadpool(overlaid, desk_of(request), request.path_params["place"], given)
    return moved(f"/job/{job.name}")


def overlaid(desk: Desk, place: str, given: Mapping[str, str]) -> Job:
    """The comparison of a run with its base, in the queue."""
    changed, base = desk.places.path(place), desk.places.path(given.get("base", "").strip())
    names = [str(read_manifest(folder)["scenario"]["name"]) for folder in (base, changed)]
    name = folder_name(names[1])
    if seeds := given.get("seeds", "").strip():
        return against(desk, name, [["--", str(base)], ["--", str(changed)]], seeds)
    result = _free_folder(desk, f"{name}-{changed.name}-against-{folder_name(names[0])}-{base.name}")
    return desk.queue.add(f"{place.partition('/')[2]} on {given['base'].partition('/')[2]}", [
        ["compare", f"--out={result}", "--", str(base), str(changed)]], desk.places.place(result))


def _free_folder(desk: Desk, name: str) -> Path:
    """A new empty folder of results: of this name, or with a number."""
    number = 1
    while True:
        folder = desk.places.results / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            number += 1


def _number(given: Mapping[str, str], name: str) -> int | None:
    """A whole number of a form; None if the field is empty. Raises InputFileError."""
    text = given.get(name, "").strip()
    if text and not text.isdecimal():
        raise InputFileError([Problem(None, None, name, text, "expected a whole number from 0 on")])
    return int(text) if text else None


def _lines(given: Mapping[str, str], name: str) -> list[str]:
    """Lines of a field that are not empty."""
    return [line.strip() for line in given.get(name, "").splitlines() if line.strip()]


def queue_page(request: Request) -> Response:
    """The queue: jobs that run and wait, and those that have ended."""
    desk = desk_of(request)
    jobs = [(job, where(desk, job), part_of(job)) for job in reversed(desk.queue.jobs())]
    return shown(request, "queue.html", jobs=jobs, cores=desk.queue.cores, live=signature(desk))


def where(desk: Desk, job: Job) -> str:
    """Address of the results of a job; empty while there are none."""
    folder = desk.places.results.joinpath(*job.place.split("/")[1:])
    if (folder / MANIFEST).is_file():
        return address("run", job.place)
    if (folder / STUDY).is_file():
        return address("study", job.place)
    return address("files", f"{job.place}/{REPORT}") if (folder / REPORT).is_file() else ""


def job_page(request: Request) -> Response:
    """The page of a job: its commands, its progress and what it printed."""
    desk = desk_of(request)
    job = desk.queue.job(request.path_params["name"])
    folder = desk.places.results.joinpath(*job.place.split("/")[1:])
    return shown(request, "job.html", job=job, log=desk.queue.log(job), results=where(desk, job),
                 commands=[shlex.join(["simgrid-broker", *command]) for command in job.commands], place=job.place,
                 seen=progress_of(desk).get(job.place), progress=read_progress(folder), live=signature(desk))


async def cancel(request: Request) -> Response:
    """Cancel a job."""
    await run_in_threadpool(desk_of(request).queue.cancel, request.path_params["name"])
    return moved("/queue")


async def forget(request: Request) -> Response:
    """Remove a job that has ended from the queue."""
    await run_in_threadpool(desk_of(request).queue.forget, request.path_params["name"])
    return moved("/queue")


def states(desk: Desk) -> dict[str, str]:
    """State of each job, by name."""
    return {job.name: job.state for job in desk.queue.jobs()}


def signature(desk: Desk) -> str:
    """A text that changes with any state: the script of a page compares it with later ones."""
    return hashlib.sha256(json.dumps(states(desk)).encode()).hexdigest()[:16]


def progress_of(desk: Desk) -> dict[str, dict[str, Any]]:
    """Progress of the runs and studies under way, by place: part, words, and shares so far."""
    results = desk.places.results
    found = {path.parent: read_progress(path.parent) for pattern in ("*/*/", "*/*/*/")
             for path in results.glob(pattern + PROGRESS)}
    under_way = {desk.places.place(folder): _seen(progress) for folder, progress in found.items() if progress}
    for job in desk.queue.jobs():
        if job.is_open and job.place not in under_way:
            part = part_of(job)
            under_way[job.place] = {"part": part, "words": f"{100 * part:.0f} %", "shares": {}}
    return under_way


def _seen(progress: Mapping[str, Any]) -> dict[str, Any]:
    words = (f"{format_seconds(progress['simulated_s'])} of {format_seconds(progress['duration_s'])}, "
             f"{progress['jobs_ended']:,} jobs ended, {progress['running_cores']:,} cores run")
    return {"part": min(progress["simulated_s"] / max(progress["duration_s"], 1e-9), 1.0), "words": words,
            "shares": {share["share"]: f"{share['got']:.1f}" for share in progress["shares"]}}


EVERY_S = 1.0
QUIET = 15
"""Looks without a change after which a comment is sent, so that a closed browser is noticed."""


async def events(request: Request) -> Response:
    """Progress of what is under way, as server-sent events: one message for each change."""
    desk = desk_of(request)
    return StreamingResponse(_changes(desk), media_type="text/event-stream")


async def _changes(desk: Desk) -> AsyncIterator[str]:
    last, quiet = "", 0
    while not desk.closing.is_set():
        now = await run_in_threadpool(lambda: json.dumps({"live": signature(desk), "progress": progress_of(desk)}))
        quiet = 0 if now != last else quiet + 1
        if now != last:
            yield f"data: {now}\n\n"
        elif quiet % QUIET == 0:
            yield ":\n\n"
        last = now
        await asyncio.sleep(EVERY_S)


ROUTES = (Route("/start", form), Route("/start", start, methods=["POST"]), Route("/queue", queue_page),
          Route("/job/{name}", job_page), Route("/job/{name}/cancel", cancel, methods=["POST"]),
          Route("/job/{name}/forget", forget, methods=["POST"]),
          Route("/overlay/{place:path}", overlay, methods=["POST"]), Route("/events", events))
LINKS = (("Start", "/start"), ("Queue", "/queue"))
