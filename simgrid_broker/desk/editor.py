"""The editor of a scenario: a draft that is checked before it is saved, and what may be started from it.

The draft of a file is kept in RESULTS/scenarios/.drafts until it is saved or discarded, with the texts before it; every
browser shows the same one. A file that changed on disk meanwhile is not overwritten unless its difference was shown.
"""

import difflib
import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import yaml
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from simgrid_broker.desk import scenario_form as forms
from simgrid_broker.desk.frame import Desk, desk_of, encoded, fields, moved, shown
from simgrid_broker.desk.jobs import Job
from simgrid_broker.desk.scenario_text import CannotEdit, ScenarioText
from simgrid_broker.desk.start import SEEDS, against
from simgrid_broker.desk.uploads import home, scenario_files
from simgrid_broker.errors import InputFileError, Problem, ScenarioError, did_you_mean
from simgrid_broker.experiments.study import folder_name
from simgrid_broker.files import reading_only, write_whole
from simgrid_broker.scenario import load_scenario
from simgrid_broker.scenario.loading.documents import EXTENDS, Source, read_value, text_of

PARTS = {"shares": "Shares", "gdpconfig": "gdpconfig", "incidents": "Incidents", "values": "Other values",
         "text": "Text"}
DRAFTS = ".drafts"
MOST_STEPS = 50
"""Edits that can be undone."""
SHIPPED = "scenarios"
"""Name of the folder of the scenarios that come with the package, which are not changed."""


@dataclass(frozen=True)
class Draft:
    """Text of a scenario file under way: its place and path, the digest of the file when it began, and texts before it.
    """

    place: str
    path: Path
    text: str
    digest: str
    before: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        """True if it differs from the file as it was."""
        return digest(self.text) != self.digest

    @property
    def read(self) -> ScenarioText:
        """The text with the files that it extends."""
        return ScenarioText(Source(self.path, self.text))


class DamagedDraft(InputFileError):
    """A draft that cannot be read; the file of which it is one is as it was when it was saved."""


DAMAGED = "the draft cannot be read: {}"


def digest(text: str) -> str:
    """Digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def draft_of(desk: Desk, place: str) -> Draft:
    """The draft of a scenario file: that under way, else the file itself. Raises ScenarioError, InputFileError."""
    path, kept = desk.places.path(place), _kept_at(desk, place)
    return _under_way(kept, place, path) if kept.is_file() else _of_file(place, path)


def _of_file(place: str, path: Path) -> Draft:
    text = text_of(path)
    return Draft(place, path, text, digest(text))


def _under_way(kept: Path, place: str, path: Path) -> Draft:
    """The draft in a file of `.drafts`; raises DamagedDraft."""
    try:
        values = json.loads(kept.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DamagedDraft([Problem(str(kept), getattr(error, "lineno", None), "", None, DAMAGED.format(error))]
                           ) from None
    match values:
        case {"text": str(text), "digest": str(begun), "before": [*before]} if all(isinstance(one, str)
                                                                                   for one in before):
            return Draft(place, path, text, begun, tuple(before))
    expected = "expected `text`, `digest` and a list `before`"
    raise DamagedDraft([Problem(str(kept), 1, "", None, DAMAGED.format(expected))])


def _kept_at(desk: Desk, place: str) -> Path:
    return home(desk.places) / DRAFTS / f"{digest(place)[:32]}.json"


def keep(desk: Desk, draft: Draft, text: str) -> None:
    """Make `text` the draft."""
    if text != draft.text:
        before = (*draft.before, draft.text)[-MOST_STEPS:]
        _write(desk, Draft(draft.place, draft.path, text, draft.digest, before))


def undo(desk: Desk, draft: Draft) -> None:
    """Take back the last edit."""
    if draft.before:
        _write(desk, Draft(draft.place, draft.path, draft.before[-1], draft.digest, draft.before[:-1]))


def _write(desk: Desk, draft: Draft) -> None:
    write_whole(_kept_at(desk, draft.place), json.dumps(dict(text=draft.text, digest=draft.digest,
                                                             before=draft.before)))


def discard(desk: Desk, place: str) -> None:
    """Forget the draft of a scenario file."""
    _kept_at(desk, place).unlink(missing_ok=True)


def save(desk: Desk, draft: Draft, seen: str) -> bool:
    """Write the draft to its file if that has the digest `seen`; false if it changed. Raises InputFileError."""
    path = desk.places.without_links(draft.place)
    if digest(text_of(path)) != seen:
        return False
    write_whole(path, draft.text)
    discard(desk, draft.place)
    return True


def page(request: Request, draft: Draft | None = None, refused: str = "", status: int = 200) -> Response:
    """The page of a scenario, one part of it."""
    desk, place = desk_of(request), request.path_params["place"]
    query = request.query_params
    part = query["part"] if query.get("part") in PARTS else "shares"
    with reading_only(desk.places.folders.values()):
        try:
            draft = draft_of(desk, place) if draft is None else draft
        except DamagedDraft as error:                                     # the file itself can still be seen
            draft, refused, status = _of_file(place, desk.places.path(place)), str(error), 409
        checked = forms.checked(Source(draft.path, draft.text))
        try:
            shown_part = _part(part, draft.read, checked, query)
        except ScenarioError:                                             # the text is not YAML: only itself is shown
            part, shown_part = "text", {}
    fields, rest = forms.beside(shown_part.pop("fields", []), checked.messages)
    return shown(request, "edit.html", status, draft=draft, part=part, parts=PARTS, rest=rest, refused=refused,
                 by_key={one.key: one for one in fields}, seen=digest(draft.text), checked=checked,
                 read_only=place.partition("/")[0] == SHIPPED, starts=_starts(draft), base=_base_of(draft),
                 here_with=encoded("edit", place) + f"?{urlencode(query)}", query=query, **shown_part)


def _part(part: str, text: ScenarioText, checked: forms.Checked, query: Mapping[str, str]) -> dict:
    """Values that the template of a part shows, with all fields; raises ScenarioError for a text that is not YAML."""
    values = text.draft.values
    if part == "shares":
        rows = forms.share_rows(text)
        return dict(rows=rows, fields=[one for row in rows for one in row.fields])
    if part == "gdpconfig":
        keys = forms.key_rows(text, query.get("search", ""), "changed" in query)
        return dict(rows=keys, fields=[row.field for row in keys], paste=forms.rows_to_paste(text))
    if part == "incidents":
        duration = checked.scenario.duration if checked.scenario else forms.seconds(values.get("duration"))
        lane, kind = forms.incident_rows(text, duration), query.get("kind")
        return dict(rows=lane, fields=[one for row in lane for one in row.fields], kinds=forms.KINDS, kind=kind,
                    new=forms.new_incident(text, kind) if kind in forms.KINDS else [], duration=duration)
    if part == "values":
        sections, (others, number) = forms.value_fields(text), forms.other_fields(text)
        return dict(sections=sections, others=others, number=number,
                    fields=[*(one for _, fields in sections for one in fields), *others])
    return {}


def _starts(draft: Draft) -> list[tuple[str, str]]:
    """Runs and studies of the saved file: titles and addresses of the form."""
    asked = {"Run": "run", "Replicate with several seeds": "replicate"}
    return [(title, f"/start?{urlencode(dict(scenario=draft.place, kind=kind))}") for title, kind in asked.items()]


def _base_of(draft: Draft) -> str | None:
    """Place of the one scenario on top of which a file is; None if it is on none, or on several."""
    with suppress(ScenarioError):
        name = draft.read.own.get(EXTENDS)
        return f"{draft.place.rpartition('/')[0]}/{name}" if isinstance(name, str) else None
    return None


async def change(request: Request) -> Response:
    """Do what a form asks of a draft, and show its page again."""
    return await run_in_threadpool(_changed, request, await fields(request))


def _changed(request: Request, given: Mapping[str, str]) -> Response:
    desk, place, action = desk_of(request), request.path_params["place"], given.get("action", "")
    if place.partition("/")[0] == SHIPPED:
        raise InputFileError([Problem(place, None, "", None, "comes with the package; begin a scenario on top of it")])
    if action == "discard":
        discard(desk, place)
        return _again(request)
    draft = draft_of(desk, place)
    if given.get("seen") not in (None, digest(draft.text)):
        return page(request, draft, "The draft changed in another window; this page shows it as it is now.", 409)
    if action in ("save", "overwrite"):
        return _saved(request, desk, draft, given)
    try:
        with reading_only(desk.places.folders.values()):
            undo(desk, draft) if action == "undo" else keep(desk, draft, edited(draft, given))
    except (CannotEdit, ValueError) as error:
        near = error.nearest if isinstance(error, CannotEdit) else ()
        return page(request, draft, f"{error}{did_you_mean(near)}", 400)
    return _again(request)


def _again(request: Request) -> Response:
    """The page of the editor, fetched again."""
    query = str(request.url.query)
    return moved(encoded("edit", request.path_params["place"]) + (f"?{query}" if query else ""))


def edited(draft: Draft, given: Mapping[str, str]) -> str:
    """The text of a draft with what a form asks: a text, an element to add, a key to remove, fields that differ.

    Fields: `set:KEY` with a value, `remove` with a key, `add` with the key of a list and its element in `new:NAME`,
    `key` and `value` for any other. Raises CannotEdit, ValueError, ScenarioError.
    """
    if "text" in given:
        lines = given["text"].replace("\r\n", "\n")
        return lines.replace("\n", "\r\n") if "\r\n" in draft.text else lines
    text = draft.read
    for name, value in given.items():
        key = name.removeprefix("set:")
        if key and key != name and value.strip() != forms.shown_at(text, text.located(key)):
            text = text.set(key, value) if value.strip() else text.removed(key)
    if key := given.get("remove", ""):
        text = text.removed(key)
    if key := given.get("add", ""):
        element = {name.removeprefix("new:"): read_value(value) for name, value in given.items()
                   if name.startswith("new:") and value.strip()}
        text = text.added(key, yaml.safe_dump(element, default_flow_style=True, sort_keys=False, width=10 ** 6))
    if key := given.get("key", "").strip():
        text = text.set(key, given.get("value", ""))
    return text.text


def _saved(request: Request, desk: Desk, draft: Draft, given: Mapping[str, str]) -> Response:
    """Save a draft; where the file changed meanwhile, the page with the difference."""
    seen = given.get("on_disk", "") if given["action"] == "overwrite" else draft.digest
    if save(desk, draft, seen):
        return moved(encoded("edit", draft.place))
    there = text_of(draft.path)
    lines = difflib.unified_diff(there.splitlines(), draft.text.splitlines(), "on disk", "draft", lineterm="")
    return shown(request, "conflict.html", 409, draft=draft, on_disk=digest(there), difference="\n".join(lines))


async def compare(request: Request) -> Response:
    """Put the comparison of a saved scenario with the one on top of which it is into the queue, with several seeds."""
    given, desk, place = await fields(request), desk_of(request), request.path_params["place"]
    job = await run_in_threadpool(_against_base, desk, place, given.get("seeds", "").strip() or SEEDS)
    return moved(f"/job/{job.name}")


def _against_base(desk: Desk, place: str, seeds: str) -> Job:
    draft = draft_of(desk, place)
    base = _base_of(draft)
    if base is None:
        raise InputFileError([Problem(place, None, EXTENDS, None, "a comparison needs one scenario that it extends")])
    with reading_only(desk.places.folders.values()):
        files = [desk.places.path(one) for one in (base, place)]
        name = [load_scenario(path).name for path in files][1]
    return against(desk, folder_name(name), [["--", str(path)] for path in files], seeds)


def listed(request: Request) -> Response:
    """The list of scenarios: those that may be edited, and those of the package."""
    desk = desk_of(request)
    places = sorted(scenario_files(desk), key=lambda place: (place.startswith(f"{SHIPPED}/"), place))
    rows = [(place, _kept_at(desk, place).is_file()) for place in places]
    return shown(request, "scenarios.html", rows=rows, shipped=SHIPPED)


ROUTES = (Route("/scenarios", listed), Route("/edit/{place:path}", page),
          Route("/edit/{place:path}", change, methods=["POST"]),
          Route("/against/{place:path}", compare, methods=["POST"]))
LINKS = (("Scenarios", "/scenarios"),)
