"""Form of a scenario: shares, gdpconfig, incidents and other values as fields, with what `check` says beside them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_origin

import yaml
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from simgrid_broker import units
from simgrid_broker.advice import editions_of, readers, refuse_unusable, remarks, remarks_on_zero_share
from simgrid_broker.desk.scenario_text import ScenarioText
from simgrid_broker.errors import InputFileError, PluginError, Problem, ScenarioError
from simgrid_broker.gdpconfig import REGISTRY, GdpconfigKey, find
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.gdpconfig import settings
from simgrid_broker.scenario.loading.documents import EXTENDS, Source
from simgrid_broker.scenario.loading.loader import scenario_in
from simgrid_broker.scenario.loading.origins import DEFAULT, Key, dotted, items_of, value_at
from simgrid_broker.scenario.loading.validate import bare, is_part
from simgrid_broker.scenario.model import Incident
from simgrid_broker.scenario.shares import Share, shares_with_keys, targets_of
from simgrid_broker.scenario.work.synthetic import task_list
from simgrid_broker.schema.part import Part, fields_by_key

SECTIONS = ("", "record", "agents", "policies")
"""Parts of a scenario whose plain values have fields of their own, by key; empty: the top."""
MOST_LISTED = 200
"""Values of a file that the form lists one by one."""


@dataclass(frozen=True)
class Message:
    """A sentence of `check`: its dotted key, empty if it has none, and True for an error."""

    key: str
    text: str
    is_error: bool


@dataclass(frozen=True)
class Checked:
    """Answer of `check` to a text: the scenario, None if it cannot be run, and everything that was said."""

    scenario: Scenario | None
    messages: tuple[Message, ...]


def checked(source: Source) -> Checked:
    """Check a scenario as `simgrid-broker check` does, its recorded work included."""
    try:
        scenario = scenario_in(source)
        refuse_unusable(scenario)
        said = (*remarks(scenario), *remarks_on_zero_share(scenario), *task_list(scenario).remarks)
    except (ScenarioError, InputFileError) as error:
        return Checked(None, tuple(Message(one.key, _said(one, source), True) for one in error.problems))
    except PluginError as error:
        return Checked(None, (Message("", str(error), True),))
    return Checked(scenario, tuple(Message("", text, False) for text in dict.fromkeys(said)))


def _said(problem: Problem, source: Source) -> str:
    """A problem with the line of the edited file, or the name and line of another one."""
    file, line = problem.file, problem.line
    if file == str(source.path):
        return f"line {line}: {replace(problem, file=None)}" if line else str(replace(problem, file=None))
    return str(replace(problem, file=file.rpartition("/")[2] if file else None))


@dataclass(frozen=True)
class Field:
    """One value of the form.

    key: dotted; shown: as it is written, empty if the default holds; origin: "here", or the file and line of another
    one, empty for a default; placeholder: the default; names: words by which a remark may mean it; messages: said about
    it.
    """

    key: str
    label: str
    shown: str = ""
    origin: str = ""
    meaning: str = ""
    placeholder: str = ""
    choices: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()

    @property
    def is_own(self) -> bool:
        """True of a value that the edited file has."""
        return self.origin == HERE


HERE = "here"


def field_at(text: ScenarioText, key: Key, label: str, meaning: str = "", **more: Any) -> Field:
    """The field of a value, as it is written here or in another file."""
    return Field(dotted(key), label, shown_at(text, key), origin_of(text, key), meaning, **more)


def shown_at(text: ScenarioText, key: Key) -> str:
    """A value as it is written, or on one line as YAML writes it; empty if no file has it."""
    written = text.written(key)
    value = value_at(text.draft.values, key)
    if written is not None:
        return written
    return "" if value is None else yaml.safe_dump(value, default_flow_style=True, width=10 ** 6, sort_keys=False,
                                                   allow_unicode=True).removesuffix("...\n").strip()


def origin_of(text: ScenarioText, key: Key) -> str:
    """Where a value was written: HERE, the name and line of another file, or empty for a default."""
    if value_at(text.draft.values, key) is None:
        return ""
    origin = text.draft.place(key)
    if origin == DEFAULT or origin.file is None:
        return ""
    return HERE if origin.file == str(text.source.path) else f"{origin.file.rpartition('/')[2]}:{origin.line}"


def beside(fields: Iterable[Field], messages: Iterable[Message]) -> tuple[list[Field], list[Message]]:
    """Fields with the messages about them, and the other messages: an error goes to the innermost field around it."""
    fields, rest = list(fields), list[Message]()
    for message in messages:
        about = [k for k, one in enumerate(fields) if _is_about(message, one)]
        longest = max((len(fields[k].key) for k in about), default=0)
        chosen = [k for k in about if len(fields[k].key) == longest] if message.key else about
        for k in chosen:
            fields[k] = replace(fields[k], messages=(*fields[k].messages, message))
        rest += [] if chosen else [message]
    return fields, rest


def _is_about(message: Message, one: Field) -> bool:
    if message.key:
        return message.key == one.key or message.key.startswith((f"{one.key}.", f"{one.key}["))
    return any(re.search(rf"(?<![\w.]){re.escape(name)}(?![\w])", message.text) for name in one.names)


@dataclass(frozen=True)
class ShareRow:
    """A share of the tree: its key, level, target in % of the whole, None if it is unknown, and fields, value first."""

    key: str
    name: str
    level: int
    target: float | None
    fields: list[Field]


def share_rows(text: ScenarioText) -> list[ShareRow]:
    """The share tree as it is written, parents before their children."""
    written = text.draft.values.get("shares")
    try:
        shares = tuple(Share.model_validate(one) for one in written or ())
        found = zip(shares_with_keys(shares), targets_of(shares), strict=True)
        targets = {key: target for (key, _), (_, _, target, _) in found}
    except (ValidationError, TypeError):
        targets = {}
    return [_share_row(text, key, value, targets.get(key)) for key, value in _raw_shares(written, ("shares",))]


def _raw_shares(written: Any, key: Key) -> Iterator[tuple[Key, dict]]:
    for position, value in enumerate(written if isinstance(written, list) else ()):
        if isinstance(value, dict):
            yield (*key, position), value
            yield from _raw_shares(value.get("children"), (*key, position, "children"))


def _share_row(text: ScenarioText, key: Key, value: dict, target: float | None) -> ShareRow:
    name = str(value.get("name", "unnamed"))
    plain = [one for one in fields_by_key(Share) if one not in ("value", "children")]
    rest = [field_at(text, (*key, one), one, _meaning(Share, one)) for one in plain]
    first = field_at(text, (*key, "value"), name, _meaning(Share, "value"), names=(f"share {name!r}", dotted(key)))
    return ShareRow(dotted(key), name, len(key) // 2, target, [first, *rest])


def _meaning(model: type[Part], name: str) -> str:
    return fields_by_key(model)[name].description or ""


@dataclass(frozen=True)
class KeyRow:
    """A key of gdpconfig: its entry of the registry, the field, and what is known of the key."""

    entry: GdpconfigKey
    field: Field
    facts: tuple[str, ...]

    @property
    def is_pattern(self) -> bool:
        """True of a family as a whole, of which only members have values."""
        return self.entry.is_family and self.field.label == self.entry.name


def key_rows(text: ScenarioText, search: str = "", only_changed: bool = False) -> list[KeyRow]:
    """Keys of gdpconfig with their values: those set, members of families included, and all others.

    search: text in the name or the meaning.
    """
    written = text.draft.values.get("gdpconfig")
    names: dict[GdpconfigKey, list[str]] = {}
    for name in written if isinstance(written, dict) else ():
        for match in find(name)[:1]:
            names.setdefault(match.entry, []).append(name)
    rows = []
    for entry in REGISTRY:
        places = [*names.get(entry, ()), *([] if entry in names and not entry.is_family else [entry.name])]
        for name in places:
            if (name in names.get(entry, ()) or not only_changed) and search.casefold() in (
                    f"{name} {entry.name} {entry.meaning}".casefold()):
                rows.append(KeyRow(entry, _key_field(text, entry, name), _facts(entry)))
    return rows


def _key_field(text: ScenarioText, entry: GdpconfigKey, name: str) -> Field:
    return field_at(text, ("gdpconfig", name), name, entry.meaning, placeholder=_as_written(entry.default),
                    names=(repr(name), f"gdpconfig.{name}"))


def _facts(entry: GdpconfigKey) -> tuple[str, ...]:
    """Default, unit, range, editions and readers of a key, in words."""
    default = "no default" if entry.default is None else (
        f"default {_as_written(entry.default)} {entry.unit}".strip())
    reading = ", ".join(readers().get(entry, ())) or "nothing in the simulator"
    editions = editions_of(entry)
    return tuple(one for one in (default, entry.range, entry.effect, f"edition: {', '.join(editions)}" if editions
                                 else "", f"read by {reading}") if one)


def rows_to_paste(text: ScenarioText) -> str:
    """Keys of gdpconfig that the scenario sets, as rows of PanDA's table with tabs."""
    written = text.draft.values.get("gdpconfig")
    found, _ = settings(written if isinstance(written, dict) else {})
    lines = [(one.entry.app, one.entry.component, one.key, str(one.value), one.entry.type) for one in found
             if one.value is not None]
    return "\n".join("\t".join(line) for line in [("app", "component", "key", "value", "type"), *lines])


@dataclass(frozen=True)
class IncidentRow:
    """An incident: its key and fields, and its place on the lane, % of the run, None if its time cannot be read."""

    key: str
    title: str
    fields: list[Field]
    begin: float | None = None
    length: float = 0.0


KINDS: tuple[str, ...] = get_args(Incident.model_fields["what"].annotation)
"""Kinds of incidents."""


def incident_rows(text: ScenarioText, duration_s: float | None) -> list[IncidentRow]:
    """Incidents in the order of the file, with the fields that they have."""
    written = text.draft.values.get("incidents")
    return [_incident_row(text, ("incidents", k), one, duration_s) for k, one in enumerate(
        written if isinstance(written, list) else ()) if isinstance(one, dict)]


def _incident_row(text: ScenarioText, key: Key, values: dict, duration_s: float | None) -> IncidentRow:
    shown = [field_at(text, (*key, name), name, _meaning(Incident, name) if name in Incident.model_fields else "")
             for name in values]
    what = " ".join([str(values.get("what", "")), *(f"{value}" for name, value in values.items()
                                                      if name not in ("what", "at", "until"))])
    at, until = seconds(values.get("at")), seconds(values.get("until"))
    if at is None or not duration_s or at > duration_s:
        return IncidentRow(dotted(key), what, shown)
    lasts = min(until if until is not None else duration_s, duration_s) - at if "until" in fields_of(
        str(values.get("what"))) else 0.0
    return IncidentRow(dotted(key), what, shown, 100 * at / duration_s, max(100 * lasts / duration_s, 0.0))


def seconds(value: Any) -> float | None:
    """A time as it is written, s; None if it cannot be read."""
    try:
        return None if value is None else float(units.seconds(value))
    except (ValueError, TypeError):
        return None


def fields_of(kind: str) -> dict[str, bool]:
    """Fields that a kind of incident reads besides `at` and `what`, with True for those that it needs."""
    values: dict[str, Any] = {"what": kind}
    incident = Incident.model_construct(**values)
    return {name: mark.is_needed(incident) for name, mark in Incident.reads() if mark.is_read(incident)}


def new_incident(text: ScenarioText, kind: str) -> list[tuple[Field, bool]]:
    """Fields of an incident of a kind that is to be added, with True for those that it needs."""
    marks: dict[str, bool] = {"at": True, **fields_of(kind)}
    return [(Field(f"new:{name}", name, meaning=_meaning(Incident, name), choices=_choices(text, name)), needed)
            for name, needed in marks.items()]


NAMES_OF = {"queue": "queues", "site": "sites", "source": "sites", "destination": "sites", "nucleus": "sites",
            "storage": "storages"}
"""Fields of incidents whose values are names of the grid, and where these are."""


def _choices(text: ScenarioText, name: str) -> tuple[str, ...]:
    """Values that a field of an incident may have, where the schema or the scenario lists them."""
    if name in NAMES_OF:
        return tuple(value_at(text.draft.values, ("grid", NAMES_OF[name])) or ())
    if name == "key":
        return tuple(entry.name for entry in REGISTRY if not entry.is_family)
    if name == "share":
        return tuple(str(one.get("name")) for _, one in _raw_shares(text.draft.values.get("shares"), ("shares",)))
    return literals(Incident.model_fields[name])


def literals(info: FieldInfo) -> tuple[str, ...]:
    """Words that a field of the schema allows, empty if any do."""
    kind = bare(info.annotation)
    return tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ("true", "false") if kind is bool else ()


def value_fields(text: ScenarioText) -> list[tuple[str, list[Field]]]:
    """Plain values of the scenario by section of SECTIONS, with their descriptions and defaults."""
    return [(section, [_value_field(text, section, name, info) for name, info in _model(section).items()
                       if _is_plain(info)]) for section in SECTIONS]


def _model(section: str) -> dict[str, FieldInfo]:
    top = fields_by_key(Scenario)
    return fields_by_key(bare(top[section].annotation)) if section else top


def _is_plain(info: FieldInfo) -> bool:
    kind = bare(info.annotation)
    return not is_part(kind) and get_origin(kind) not in (dict, tuple)


def _value_field(text: ScenarioText, section: str, name: str, info: FieldInfo) -> Field:
    key = (section, name) if section else (name,)
    return field_at(text, key, name, info.description or "", placeholder=_default(info), choices=literals(info),
                    names=(dotted(key),) if section else ())


def _default(info: FieldInfo) -> str:
    """The default of a field, as a placeholder."""
    return "required" if info.is_required() else _as_written(info.get_default(call_default_factory=True))


def _as_written(value: object) -> str:
    """A default as a file would have it, empty for a missing one."""
    if value is None or value == ():
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def other_fields(text: ScenarioText) -> tuple[list[Field], int]:
    """Single values of the edited file that have no field elsewhere, at most MOST_LISTED, and the number of all."""
    elsewhere = {one.key for _, fields in value_fields(text) for one in fields}
    keys = [key for key, value in items_of(text.own) if not isinstance(value, dict | list)
            and key[0] not in (EXTENDS, "shares", "gdpconfig", "incidents") and dotted(key) not in elsewhere]
    return [field_at(text, key, dotted(key)) for key in keys[:MOST_LISTED]], len(keys)
