"""New scenarios below RESULTS/scenarios: on top of a copy of another one, or from files that the importers read.

Each has a folder of its own, `scenarios/NAME`, with `NAME.yaml`, which is edited; `base` has copies of the files of a
scenario that it extends, `loaded` the uploads and what the importers wrote.
"""

import json
import re
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn, get_type_hints

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from simgrid_broker.advice import policies_as_read
from simgrid_broker.cli import importing
from simgrid_broker.desk.frame import Desk, desk_of, encoded, fields, moved, shown
from simgrid_broker.desk.security import Places
from simgrid_broker.errors import InputFileError, Problem, SimgridBrokerError
from simgrid_broker.files import reading_only, write_whole
from simgrid_broker.scenario import Scenario, load_scenario
from simgrid_broker.scenario.importers import (
    cric_grid,
    read_cgsim,
    read_gdpconfig,
    read_harvester,
    read_shares,
    write_grid,
    write_part,
)
from simgrid_broker.scenario.loading.documents import EXTENDS, FILES, read_yaml, text_of
from simgrid_broker.scenario.loading.loader import KINDS
from simgrid_broker.scenario.loading.origins import value_at

SCENARIOS = "scenarios"
NAME = re.compile(r"\w[\w.+-]{0,79}")
"""Names of new scenarios, and thus of folders and files."""
INPUTS = {"pandaqueues": ("cric", "pandaqueues"), "rses": ("cric", "rses"), "closeness": ("cric", "closeness"),
          "software": ("cric", "software"), "sites": ("cgsim", "sites"), "links": ("cgsim", "links"),
          "jobs": ("cgsim", "jobs"), "shares": ("shares", "table"), "types": ("shares", "types"),
          "slots": ("shares", "slots"), "gdpconfig": ("gdpconfig", "table"), "harvester": ("harvester", "config")}
"""Files that may be uploaded, and the command and argument of `import` that takes them."""
NEEDS = {"rses": "pandaqueues", "closeness": "pandaqueues", "software": "pandaqueues", "auto_as_any": "pandaqueues",
         "links": "sites", "sites": "links", "jobs": "sites", "types": "shares", "slots": "shares"}
"""Files, and an option, that are read together with another file."""
GRIDS = ("pandaqueues", "sites")
OF_SCENARIOS = re.compile(rf"^(?:{'|'.join(sorted({EXTENDS, *KINDS[Scenario][0]}))})\s*:", re.MULTILINE)
"""A key of scenarios alone, at the begin of a line."""
MOST_UNPACKED = 512 << 20
"""Most bytes of an upload after it is unpacked."""


def helps() -> dict[str, dict[str, str]]:
    """Meaning of each file that may be uploaded, as `import` gives it, by command."""
    found: dict[str, dict[str, str]] = {}
    for name, (command, argument) in INPUTS.items():
        hints = get_type_hints(getattr(importing, command), include_extras=True)
        found.setdefault(command, {})[name] = hints[argument].__metadata__[0].help
    return found


def home(places: Places) -> Path:
    """The folder of the scenarios that are made here; raises InputFileError if it is a link."""
    (places.results / SCENARIOS).mkdir(exist_ok=True)
    return places.without_links(f"results/{SCENARIOS}")


def new_folder(places: Places, name: str) -> Path:
    """A new folder of scenarios; raises InputFileError for a name that is taken or is not one."""
    if not NAME.fullmatch(name):
        _refuse("name", name, "expected letters, digits and . + - _, at most 80, the first a letter or digit")
    folder = home(places) / name
    try:
        folder.mkdir()
    except FileExistsError:
        _refuse("name", name, "there is a scenario of this name; choose another one, or edit that")
    return folder


def begun(places: Places, name: str, fill: Callable[[Path], list[str]]) -> Path:
    """A new scenario on top of files that `fill` writes to its folder, whose paths it returns; removed if it fails."""
    folder = new_folder(places, name)
    try:
        with reading_only(places.folders.values()):
            extended = fill(folder)
        names = json.dumps(extended[0] if len(extended) == 1 else extended, ensure_ascii=False)
        return write_whole(folder / f"{name}.yaml", f"name: {json.dumps(name)}\n{EXTENDS}: {names}\n")
    except BaseException:
        shutil.rmtree(folder)
        raise


def copied(scenario: Path, folder: Path) -> str:
    """Copy a scenario with the files that it reads to the folder `base`; the path of the copy, relative to `folder`.

    Raises ScenarioError where a file cannot be read, InputFileError for one that lies outside the scenario's folder.
    """
    home = scenario.parent.resolve()
    for path in _files_of(scenario):
        if not path.resolve().is_relative_to(home):
            _refuse("file", str(path), f"is read by {scenario.name}, and lies outside its folder; only files beside it "
                    "and below it are copied")
        there = folder / "base" / path.resolve().relative_to(home)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, there)
    return f"base/{scenario.resolve().name}"


def _files_of(scenario: Path) -> Iterator[Path]:
    """A scenario file, those that it extends, and the files that they name."""
    todo, done = [scenario], set[Path]()
    while todo:
        path = todo.pop()
        if path in done:
            continue
        done.add(path)
        values = read_yaml(text_of(path), str(path)).values
        yield path
        extended = value_at(values, (EXTENDS,)) or ()
        todo += [path.parent / str(name) for name in ([extended] if isinstance(extended, str) else extended)]
        named = (value_at(values, key) for key in FILES)
        yield from (path.parent / name for name in named if isinstance(name, str))


def loaded(folder: Path, files: Mapping[str, Path], base: Path | None,
           auto_as_any: bool) -> tuple[list[str], list[str]]:
    """Files that the importers write to the folder `loaded`, in the order in which they are laid over, and remarks.

    base: a scenario below those without a grid. Raises InputFileError, ScenarioError.
    """
    _refuse_alone([*files, *(["auto_as_any"] if auto_as_any else [])], base)
    extended, said = [] if base is None else [copied(base, folder)], list[str]()

    def add(name: str, remarks: list[str]) -> None:
        extended.append(f"loaded/{name}.yaml")
        said.extend(remarks)

    def part(name: str, values: dict, remarks: list[str]) -> None:
        write_part(values, folder / "loaded" / f"{name}.yaml", remarks)
        add(name, remarks)
    if grid := _grid(folder, files, auto_as_any):
        add("grid", grid)
    if "shares" in files:
        part("shares", *read_shares(files["shares"], files.get("types"), files.get("slots")))
    if "gdpconfig" in files:
        part("gdpconfig", *read_gdpconfig(files["gdpconfig"]))
    if "harvester" in files:
        queues = load_scenario(folder / extended[0]).grid.queues
        part("harvester", *read_harvester(files["harvester"], queues))
    return extended, said


def _refuse_alone(files: Sequence[str], base: Path | None) -> None:
    """Raise InputFileError for files that cannot be read together, or without another one."""
    problems = [Problem(None, None, name, None, f"is read together with {NEEDS[name]}, which is missing")
                for name in files if name in NEEDS and NEEDS[name] not in files]
    grids = [name for name in GRIDS if name in files]
    if len(grids) > 1:
        problems.append(Problem(None, None, "sites", None, "CRIC's and CGSim's files are two grids; load one of them"))
    if not files:
        problems.append(Problem(None, None, "", None, "choose at least one file"))
    elif not grids and base is None:
        problems.append(Problem(None, None, "base", None, "without a grid, choose the scenario to lay the files over"))
    if grids and base is not None:
        problems.append(Problem(None, None, "base", base.stem, "a grid is loaded, so no other scenario is below it"))
    if problems:
        raise InputFileError(problems)


def _grid(folder: Path, files: Mapping[str, Path], auto_as_any: bool) -> list[str]:
    """Write the grid in the files, if there is one, and return the remarks of its importer."""
    path = folder / "loaded" / "grid.yaml"
    if "pandaqueues" in files:
        rses, closeness, software = map(files.get, ("rses", "closeness", "software"))
        grid, remarks = cric_grid(files["pandaqueues"], rses, closeness, software, auto_as_any)
        remarks += policies_as_read(grid)
        write_grid(grid, path, remarks)
        return remarks
    if "sites" not in files:
        return []
    grid, others, remarks = read_cgsim(files["sites"], files["links"], files.get("jobs"))
    if (trace := value_at(others, ("workload", "trace"))) is not None:
        trace["file"] = Path(trace["file"]).name
    write_grid(grid, path, remarks, others)
    return remarks


async def _kept(form: FormData, folder: Path) -> dict[str, Path]:
    """Uploads of a form, written to a folder under the names of their fields."""
    kept = {}
    for name, upload in form.items():
        if name in INPUTS and isinstance(upload, UploadFile) and upload.filename:
            suffixes = re.findall(r"\.\w{1,8}", Path(upload.filename).name)[-2:]
            kept[name] = folder / f"{name}{''.join(suffixes)}"
            content = await upload.read()
            _refuse_bomb(name, content)
            await run_in_threadpool(write_whole, kept[name], content)
    return kept


def _refuse_bomb(name: str, content: bytes) -> None:
    """Raise InputFileError for a gzip file that unpacks to more than MOST_UNPACKED bytes."""
    if content[:2] != b"\x1f\x8b":
        return
    left, size = zlib.decompressobj(31), 0
    try:
        while content and size <= MOST_UNPACKED:
            size += len(left.decompress(content, 1 << 20))
            content = left.unconsumed_tail
    except zlib.error:
        return                                                                      # the importer says what is wrong
    if size > MOST_UNPACKED:
        _refuse(name, None, f"unpacks to more than {MOST_UNPACKED >> 20} MiB")


def form(request: Request) -> Response:
    """The form of files to load."""
    return shown(request, "load.html", helps=helps(), bases=sorted(scenario_files(desk_of(request))))


def scenario_files(desk: Desk) -> Iterator[str]:
    """Places of scenarios that may be edited, or on top of which new ones begin."""
    for name, root in desk.places.folders.items():
        below = root / SCENARIOS if name == "results" else root
        for path in [*below.glob("*.y*ml"), *below.glob("*/*.y*ml")]:
            inner = path.relative_to(below)
            is_one = path.stem == path.parent.name if name == "results" else _is_scenario(path)
            if is_one and not any(part.startswith(".") for part in inner.parts):
                yield "/".join([name, *path.relative_to(root).parts])


def _is_scenario(path: Path) -> bool:
    """True unless a file has none of the keys that tell scenarios from snapshots and parts."""
    with suppress(OSError, SimgridBrokerError):
        return OF_SCENARIOS.search(text_of(path)) is not None
    return True


async def load(request: Request) -> Response:
    """Make a scenario of the uploads, and show the remarks of the importers."""
    desk = desk_of(request)
    async with request.form() as given:
        with TemporaryDirectory(prefix=".loading-", dir=home(desk.places)) as waiting:
            uploads = await _kept(given, Path(waiting))
            path, said = await run_in_threadpool(_begun_with, desk, Path(waiting), uploads, given)
    return shown(request, "loaded.html", place=desk.places.place(path), remarks=said)


def _begun_with(desk: Desk, waiting: Path, uploads: Mapping[str, Path], given: FormData) -> tuple[Path, list[str]]:
    """A new scenario of uploads that lie in a folder, and the remarks of the importers."""
    name, chosen, said = str(given.get("name") or "").strip(), str(given.get("base") or ""), list[str]()
    base = desk.places.path(chosen) if chosen else None

    def fill(folder: Path) -> list[str]:
        shutil.copytree(waiting, folder / "loaded")
        files = {key: folder / "loaded" / path.name for key, path in uploads.items()}
        extended, remarks = loaded(folder, files, base, "auto_as_any" in given)
        said.extend(remarks)
        return extended
    return begun(desk.places, name, fill), said


async def begin(request: Request) -> Response:
    """Begin a scenario on top of a copy of another one."""
    given, desk = await fields(request), desk_of(request)
    base = desk.places.path(given.get("base", ""))
    path = await run_in_threadpool(begun, desk.places, given.get("name", "").strip(),
                                   lambda folder: [copied(base, folder)])
    return moved(encoded("edit", desk.places.place(path)))


def _refuse(key: str, value: object, expected: str) -> NoReturn:
    raise InputFileError([Problem(None, None, key, value, expected)])


ROUTES = (Route("/load", form), Route("/load", load, methods=["POST"]), Route("/begin", begin, methods=["POST"]))
LINKS = (("Load a grid", "/load"),)
