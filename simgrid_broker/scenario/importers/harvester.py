"""Reads Harvester's queue configuration as options of PanDA queues; source: formats reference, section 11."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simgrid_broker.scenario.importers.cric_values import number_of
from simgrid_broker.scenario.importers.input_files import Tally, read_json
from simgrid_broker.schema.harvester import FACTORS, LIMITS, RATIOS, WITHOUT_IDLE
from simgrid_broker.schema.queues import PRODUCTION_TYPES, Queue
from simgrid_broker.schema.throttler import RuleForMissed

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
    return {"grid": {"queues": parts}}, [f"options of {len(parts)} queues from {path.name}", *tally.remarks()]


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
    """What is said of a queue that the grid does not say itself."""
    options = {key: value for key, value in described["params"].items() if key not in queue.params}
    others = {key: described[key] for key in ("workflow", "status", "throttler")
              if key in described and (key != "throttler" or queue.throttler is None)}
    if others.get("workflow") == queue.mode.template:
        del others["workflow"]                              # CRIC also says whether payloads report
    return others | ({"params": options} if options else {})
