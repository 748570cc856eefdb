"""Files of operators as parts of a scenario: gdpconfig, shares, resource types, slots, Harvester's settings, NWS.

Sources: formats reference, sections 5, 7 and 8. Shares are rows of GLOBAL_SHARES, or a tree of objects with name, value
and children.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from simgrid_broker.errors import nearest
from simgrid_broker.gdpconfig import find
from simgrid_broker.names import KNOWN_RESOURCE_TYPES
from simgrid_broker.scenario.gdpconfig import typed
from simgrid_broker.scenario.importers.files import (
    BadLines,
    JsonFile,
    Rows,
    Tally,
    clean,
    line_of,
    number_of,
    read_json,
)
from simgrid_broker.scenario.shares import TAGS
from simgrid_broker.schema.harvester import FACTORS, LIMITS, RATIOS, WITHOUT_IDLE
from simgrid_broker.schema.queues import PRODUCTION_TYPES, Queue, RuleForMissed
from simgrid_broker.units import MB

COLUMNS = ("app", "component", "key", "value", "type", "vo", "descr", "value_json", "default", "unit", "source", "note")
"""Columns of the table, and those of lists of defaults, in which `default` is the value."""
OURS = (None, "", "atlas")
"""Virtual organisations whose rows count."""


def read_gdpconfig(path: Path) -> tuple[dict, list[str]]:
    """The part `gdpconfig`, component.KEY to value, and remarks on rows that are not used.

    A value that does not fit its type counts as missing, as in PanDA. Raises InputFileError for a file of another form.
    """
    rows, tally = Rows(path, "key"), Tally()
    rows.only(COLUMNS)
    found: dict[str, Any] = {}
    for row in rows.rows:
        component, key = rows.text(row, "component"), rows.text(row, "key")
        if component is None or key is None:
            rows.wrong(row, "key" if component else "component", "expected text")
            continue
        name = f"{component}.{key}"
        if row.get("vo") not in OURS:
            tally.count("keys of other virtual organisations, not used", name)
        elif "<" in key:
            tally.count("families of keys, which are no keys themselves, not used", name)
        elif not find(name):
            tally.count("keys that no rule here reads, not used", name)
        else:
            _take(name, row, found, tally)
    rows.bad.stop()
    return {"gdpconfig": found}, [f"{len(found)} of {len(rows.rows)} keys of gdpconfig from {path.name}",
                                  *tally.remarks()]


def _take(name: str, row: dict, found: dict[str, Any], tally: Tally) -> None:
    value = row.get("value_json") if row.get("type") == "json" and "value_json" in row else row.get("value")
    value = row.get("default") if value is None else value
    entry = find(name)[0].entry
    if value is None:
        tally.count("keys without a value, which are not set", name)
        return
    try:
        found[name] = typed(entry, value)
    except ValueError as error:
        tally.count(f"values that count as missing: {error}", f"{name} = {value!r}")
    if row.get("app") not in (None, "", entry.app):
        tally.count(f"keys of another application than {entry.app}, used all the same", name)


UNUSED, BOUNDS = ("vo", "queue_id"), ("mincore", "maxcore", "minrampercore", "maxrampercore")
SLOTS = ("pandaqueuename", "gshare", "resourcetype", "numslots", "modificationtime", "expirationtime")


def read_shares(shares: Path, types: Path | None = None, slots: Path | None = None) -> tuple[dict, list[str]]:
    """The parts `shares`, `resource_types` and `grid.queues` of a scenario, and remarks on what is not used.

    Raises InputFileError with all problems of a file.
    """
    tally = Tally()
    file = read_json(shares)
    is_tree = isinstance(file.value, dict) and "rows" not in file.value
    tree = _of_tree(file) if is_tree else _of_rows(Rows(shares, "name"), tally)
    parts: dict[str, Any] = {"shares": tree}
    leaves = list(_leaves(tree))
    if not any(name in leaf for leaf in leaves for name in TAGS):
        tally.say("no share has an expression for tagging, so that the first leaf takes every task that names no share "
                  "(gshare)")
    if types is not None:
        parts["resource_types"] = _types(Rows(types, "resource_name"))
    if slots is not None:
        parts["grid"] = {"queues": _slots(Rows(slots, "pandaqueuename"), tally)}
    return parts, [f"{len(leaves)} leaf shares from {shares.name}", *tally.remarks()]


def _leaves(tree: list[dict]):
    for share in tree:
        yield from _leaves(share["children"]) if "children" in share else (share,)


def _of_rows(rows: Rows, tally: Tally) -> list[dict]:
    """Tree of the rows; siblings in the order of the table."""
    rows.only(("name", "value", "parent", "throttled", *TAGS, *UNUSED))
    by_name: dict[str, dict] = {}
    for row in rows.rows:
        name = rows.text(row, "name")
        if name is None or name in by_name:
            rows.wrong(row, "name", "expected a name" if name is None else "another row has this name")
        else:
            by_name[name] = _share(rows, row, tally)
    roots: list[dict] = []
    for row in rows.rows:
        _place(rows, row, by_name, roots)
    if not roots:
        rows.bad.add(1, "parent", None, "expected at least one share without a parent")
    rows.bad.stop()
    return roots


def _share(rows: Rows, row: Mapping, tally: Tally) -> dict:
    value = rows.number(row, "value")
    found: dict[str, Any] = {"name": row["name"], "value": value or 0}
    if row.get("value") is None:
        rows.wrong(row, "value", "expected a number from 0 up")
    for name in TAGS:
        text = rows.text(row, name)
        if text is not None:
            found[name] = text
            try:
                re.compile(text)
            except re.error as error:
                rows.wrong(row, name, f"expected a regular expression: {error}")
    throttled = str(row.get("throttled") or "Y").upper()
    if throttled not in ("Y", "N"):
        rows.wrong(row, "throttled", "expected Y, N or null")
    if throttled == "N":
        found["throttled"] = False
    for name in UNUSED:
        if row.get(name) is not None:
            tally.count(f"values of {name}, which is not used", row["name"])
    return found


def _place(rows: Rows, row: Mapping, by_name: Mapping[str, dict], roots: list[dict]) -> None:
    """Put the share of a row below its parent, which must not be below it."""
    name, parent = str(row.get("name")), rows.text(row, "parent")
    if name not in by_name:
        return
    if parent is None:
        roots.append(by_name[name])
    elif parent not in by_name:
        rows.wrong(row, "parent", "no share has this name", nearest(parent, by_name))
    elif _is_below(name, parent, rows):
        rows.wrong(row, "parent", "is below this share itself")
    else:
        by_name[parent].setdefault("children", []).append(by_name[name])


def _is_below(name: str, other: str | None, rows: Rows) -> bool:
    parents = {str(row.get("name")): row["parent"] for row in rows.rows if isinstance(row.get("parent"), str)}
    for _ in parents:
        if other is None or other == name:
            break
        other = parents.get(other)
    return other == name


def _of_tree(file: JsonFile) -> list[dict]:
    """Shares of a tree as it is printed; an object `tree` or the whole file is the root, whose name does not count."""
    bad = BadLines(file.path)
    root = file.value.get("tree", file.value)

    def share(node: Any) -> dict:
        name, value = (node.get("name"), node.get("value")) if isinstance(node, dict) else (None, None)
        if not isinstance(name, str):
            bad.add(line_of(file, name), "name", name, "expected a share with a name")
            return {"name": "", "value": 0}
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            bad.add(line_of(file, name), f"{name!r}: value", value, "expected a number from 0 up")
        for key in sorted({*node} - {"name", "value", "children"}):
            bad.add(line_of(file, key), f"{name!r}: {key}", node[key], "unknown field",
                    nearest(key, ("name", "value", "children")))
        below = node.get("children") or []
        if not isinstance(below, list):
            bad.add(line_of(file, name), f"{name!r}: children", below, "expected a list of shares")
        children = [share(child) for child in below] if isinstance(below, list) else []
        return {"name": name, "value": value} | ({"children": children} if children else {})
    nodes = root.get("children") if isinstance(root, dict) else None
    if not isinstance(nodes, list) or not nodes:
        bad.add(1, "", None, "a list of rows, or a tree of shares with name, value and children was expected")
    found = [share(node) for node in nodes or ()]
    bad.stop()
    return found


def _types(rows: Rows) -> dict[str, dict]:
    """Bounds of the resource types in the order of the table; an open bound is left out."""
    rows.only(("resource_name", *BOUNDS))
    found = {}
    for row in rows.rows:
        name = rows.text(row, "resource_name")
        if name not in KNOWN_RESOURCE_TYPES:
            rows.wrong(row, "resource_name", "PanDA has no such resource type",
                       nearest(str(name), KNOWN_RESOURCE_TYPES))
        bounds = {bound: rows.number(row, bound, whole=True) for bound in BOUNDS}
        found[str(name)] = {bound: value for bound, value in bounds.items() if value is not None}
    rows.bad.stop()
    return found


def _slots(rows: Rows, tally: Tally) -> dict[str, dict]:
    """Slots of PanDA queues: one number where a queue has a single row for any share and type, else its rows."""
    rows.only(SLOTS)
    requests: dict[str, list[dict]] = {}
    for row in rows.rows:
        name, number = rows.text(row, "pandaqueuename"), row.get("numslots")
        if name is None or isinstance(number, bool) or not isinstance(number, int):
            rows.wrong(row, "numslots", "expected a PanDA queue and a whole number")
        elif number < 0:
            tally.count("queues with negative slots, which PanDA ignores", name)
        else:
            said = {"gshare": row.get("gshare"), "resource_type": row.get("resourcetype")}
            requests.setdefault(name, []).append({key: value for key, value in said.items() if value}
                                                 | {"slots": number})
            if row.get("modificationtime"):
                tally.count("values of modificationtime, which is not used", name)
            if row.get("expirationtime"):
                tally.count("slots that expire, which are kept to the end", name)
    found: dict[str, dict] = {name: {"num_slots": one[0]["slots"]} if len(one) == 1 and [*one[0]] == ["slots"]
                              else {"slot_requests": one} for name, one in requests.items()}
    rows.bad.stop()
    return found


STRUCTURE = ("isTemplateQueue", "templateQueueName", "mapType", "runMode")
"""Settings that say what an entry is and how its jobs come to workers."""
PULL = "NoJob"
STATUSES = ("online", "offline")
LEVELS = ("pq", "site")
"""Levels of a throttler's rule that a grid has; computing elements are not simulated."""


def read_harvester(path: Path, queues: Mapping[str, Queue]) -> tuple[dict, list[str]]:
    """Options and workflows of PanDA queues as the part `grid.queues`, and remarks on what is not used.

    queues: those of the grid; one that the file does not name has the template of its type and workflow, if there is
    one (`production.pull_ups`), and what its own `params` say counts more. Raises InputFileError for a file of another
    form.
    """
    file, tally = read_json(path), Tally()
    entries = file.objects("a queue or template")
    tally.count_all("settings that occur twice in the file, of which the last counts", file.repeated)
    found, unused = dict[str, dict](), set[str]()
    for name, entry in entries.items():
        if entry.get("isTemplateQueue") is True:
            continue
        if name not in queues:
            tally.count("entries that are no queues of the grid, not used", name)
        else:
            found[name] = _described(name, entry, entries, tally, unused)
    for name, queue in queues.items():
        template = entries.get(template_of(queue))
        if name not in entries and template is not None:
            found[name] = _described(name, template, entries, tally, unused)
        elif name not in entries:
            tally.count("queues without an entry or a template, left as they are", name)
    parts = {name: changed for name, each in found.items() if (changed := _changes(each, queues[name]))}
    if unused:
        tally.say(f"settings that no agent here reads, not used: {', '.join(sorted(unused))}")
    return {"grid": {"queues": parts}}, [
        f"options of {len(parts)} queue{'s' * (len(parts) != 1)} from {path.name}", *tally.remarks()]


def template_of(queue: Queue) -> str:
    """Name of the template of a queue by its type and workflow."""
    kind = "production" if queue.type in PRODUCTION_TYPES else "analysis"
    return f"{kind}.{queue.mode.template}"


def _described(name: str, entry: Mapping, entries: Mapping[str, Mapping], tally: Tally,
               unused: set[str]) -> dict:
    """Options, workflow and status that an entry gives a queue, with those of its template."""
    whole = dict(entry)
    template = entry.get("templateQueueName")
    if template is not None and template in entries:
        whole = {**entries[template], **entry}
    elif template is not None:
        tally.count("queues whose template is not in the file", f"{name}: {template}")
    found: dict[str, Any] = {"params": dict(_options(name, whole, tally, unused))}
    if isinstance(kind := whole.get("mapType"), str):
        found["workflow"] = ("pull_ups" if whole.get("runMode") == "slave" else "pull") if kind == PULL else "push"
    if rules := list(_rules(name, whole.get("throttler"), tally)):
        found["throttler"] = {"rulesForMissed": rules} | ({"logicType": "AND"} if whole["throttler"].get(
            "logicType") == "AND" else {})
    status = whole.get("queueStatus")
    if status == "offline":
        found["status"] = status
    elif status is not None and status not in STATUSES:
        tally.count("values of queueStatus other than online and offline, not used", f"{name}: {status!r}")
    return found


def _rules(name: str, throttler: Any, tally: Tally) -> Iterable[dict]:
    """Rules of a throttler about missed workers that can be followed here."""
    for rule in (throttler if isinstance(throttler, dict) else {}).get("rulesForMissed") or ():
        try:
            yield RuleForMissed(**rule).model_dump()
        except (TypeError, ValueError):
            tally.count(f"rules of throttlers other than of level {' or '.join(LEVELS)} with a time and a number, not "
                        "used", f"{name}: {rule!r}")


def _options(name: str, whole: Mapping, tally: Tally, unused: set[str]) -> Iterable[tuple[str, Any]]:
    """Limits that Harvester's agents here read; the names of other settings are added to `unused`."""
    for key, value in whole.items():
        if key == WITHOUT_IDLE or key in FACTORS and value == "auto":
            yield key, value
        elif key in LIMITS or key in RATIOS or key in FACTORS:
            number, wanted = number_of(value), "from 1 up" if key in LIMITS else "above 0"
            if number is None or number <= 0 or key in LIMITS and number < 1:
                tally.count(f"values of {key} that are not numbers {wanted}, not used", f"{name}: {value!r}")
            else:
                yield key, int(number) if number.is_integer() else number
        elif key not in (*STRUCTURE, "queueStatus", "throttler"):
            unused.add(key)


def _changes(described: Mapping, queue: Queue) -> dict:
    """Settings of a queue that the grid does not have itself."""
    options = {key: value for key, value in described["params"].items() if key not in queue.params}
    others = {key: described[key] for key in ("workflow", "status", "throttler")
              if key in described and (key != "throttler" or queue.throttler is None)}
    if others.get("workflow") == queue.mode.template:
        del others["workflow"]                              # CRIC also says whether payloads report
    return others | ({"params": options} if options else {})


QUEUED = {"Production Output": "queued_files", "Express": "queued_express"}
"""Activities whose queued files brokerage reads, to the keys of a snapshot."""
WINDOWS = {"1h": "mbps_hour", "1d": "mbps_day", "1w": "mbps_week"}
"""Windows of the throughput, to the keys of a snapshot, the longest last."""
SYSTEM = "dashb"
"""Whose throughput brokerage reads: that of FTS; source: brokerage reference, section 7."""
OLDEST = timedelta(minutes=30)
"""Age from which PanDA drops an entry when it loads it; the newest time stamp of the file counts as now."""


def read_network_metrics(path: Path, sites: Collection[str], rates: bool = False) -> tuple[dict, list[str]]:
    """Traffic of the links between `sites` as the part `links` of a snapshot, and remarks on what is unused.

    rates: instead the part `grid.links.pairs` of a scenario, in which files move at the throughput of the longest
    window, bytes/s. Raises InputFileError for a file of another form.
    """
    file, tally = read_json(path), Tally()
    tally.count_all("keys that occur twice in the file, of which the last counts", file.repeated)
    now = max(_times(file.value), default=None) if isinstance(file.value, dict) else None
    links = list(_links(file, sites, now, tally))
    origin = f"network metrics of {len(links)} links from {path.name}" + (f", as of {now.isoformat()}" if now else "")
    if not rates:
        return {"links": links}, [origin, *tally.remarks()]
    pairs = [{"source": link["source"], "destination": link["destination"], "file_rate": rate * MB}
             for link in links if (rate := _longest_window(link)) > 0]
    tally.count_all("links without a throughput above 0, left as they are",
                    (f"{link['source']} to {link['destination']}" for link in links if not _longest_window(link) > 0))
    tally.say("that a file moves at the mean throughput of the files of its link is assumed; queued files are not part "
              "of a scenario")
    return {"grid": {"links": {"pairs": pairs}}}, [origin, *tally.remarks()]


def _longest_window(link: Mapping[str, Any]) -> float:
    """Throughput of the longest window that is known, MB/s: its mean is over most files; 0 = none is."""
    return next((link[key] for key in reversed(WINDOWS.values()) if key in link), 0.0)


def _links(file: JsonFile, sites: Collection[str], now: datetime | None, tally: Tally) -> Iterator[dict[str, Any]]:
    """One entry for each link between sites of the grid."""
    for key, entry in file.objects("a link").items():
        source, colon, destination = clean(key).partition(":")
        if not colon or source not in sites or destination not in sites:
            tally.count("links that are not between sites of the grid, not used", clean(key))
        elif source == destination:
            tally.count("links from a site to itself, not used", source)
        else:
            numbers = dict(_numbers(clean(key), entry, now, tally))
            yield {"source": source, "destination": destination, **numbers}


def _numbers(name: str, entry: Mapping, now: datetime | None, tally: Tally) -> Iterator[tuple[str, Any]]:
    """Keys of a snapshot with their values; everything else is counted in `tally`."""
    for part, said in entry.items():
        if part == "files" and isinstance(said, Mapping):
            yield from _queued(name, said, now, tally)
        elif part == "mbps" and isinstance(said, Mapping):
            yield from _throughput(name, said, now, tally)
        else:
            tally.count(f"parts of a link that nothing here reads: {clean(part)}", name)


def _queued(name: str, files: Mapping, now: datetime | None, tally: Tally) -> Iterator[tuple[str, int]]:
    for kind, activities in files.items():
        for activity, said in activities.items() if isinstance(activities, Mapping) else ():
            if kind != "queued" or activity not in QUEUED:
                tally.count(f"files {clean(kind)} of {clean(activity)}, which brokerage does not read", name)
            elif _is_fresh(said, now, f"{name}, {activity}", tally):
                value = _number(said, "latest", name, tally)
                if value is not None:
                    yield QUEUED[activity], int(value)


def _throughput(name: str, systems: Mapping, now: datetime | None, tally: Tally) -> Iterator[tuple[str, float]]:
    for system, said in systems.items():
        if system != SYSTEM:
            tally.count(f"throughput by {clean(system)}, of which brokerage reads that of {SYSTEM} alone", name)
        elif _is_fresh(said, now, f"{name}, {system}", tally):
            for window in said:
                if window in WINDOWS and (value := _number(said, window, name, tally)) is not None:
                    yield WINDOWS[window], value
                elif window not in (*WINDOWS, "timestamp"):
                    tally.count(f"windows of the throughput that nothing here reads: {clean(window)}", name)


def _number(said: Mapping, key: str, name: str, tally: Tally) -> float | None:
    """A number from 0 up, None (with a remark) if it is not one."""
    value = number_of(said.get(key))
    if value is None or value < 0:
        tally.count(f"values of {key} that are not numbers from 0 up, not used", f"{name}: {said.get(key)!r}")
        return None
    return value


def _is_fresh(said: object, now: datetime | None, what: str, tally: Tally) -> bool:
    """True if an entry is an object that is not too old; one without a time stamp counts as new."""
    if not isinstance(said, Mapping):
        tally.count("entries that are not objects, not used", what)
        return False
    stamp = _stamp(said.get("timestamp"))
    if stamp is None:
        tally.count("entries without a time stamp, taken for new", what)
    elif now is not None and now - stamp > OLDEST:
        tally.count("entries more than 30 min older than the newest of the file, which PanDA does not load", what)
        return False
    return True


def _times(value: object) -> Iterator[datetime]:
    """All time stamps of a nested object."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            stamp = _stamp(inner) if key == "timestamp" else None
            if stamp is not None:
                yield stamp
            yield from _times(inner)


def _stamp(text: object) -> datetime | None:
    """A time stamp, without its zone; None if the text is not one."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None) if isinstance(text, str) else None
    except ValueError:
        return None
