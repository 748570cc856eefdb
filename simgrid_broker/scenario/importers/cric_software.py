"""Reads CRIC's software and hardware of queues (`pandaqueue/query/?json&preset=tags`).

Source: formats reference, section 6.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from simgrid_broker.scenario.importers.cric_values import clean
from simgrid_broker.scenario.importers.input_files import Tally, read_json

EVERYWHERE = "ALL"

SOFTWARE = {"cmtconfigs": list, "containers": list, "cvmfs": list}
HARDWARE = {"type": str, "arch": list, "instr": list, "vendor": list, "model": list, "version": list}
TAG = {"project": str, "release": str, "cmtconfig": str, "container_name": str, "sources": list, "tag": str}
"""Fields of an entry, of each of its `architectures`, and of each of its `tags`."""

KINDS = ("cpu", "gpu")


def read_software(path: Path, queues: Iterable[str]) -> tuple[dict[str, dict], dict | None, list[str]]:
    """What is published for each of `queues` and for ALL, as a scenario writes it, and remarks.

    Raises InputFileError for a file that is not a JSON object of objects.
    """
    tally, known = Tally(), set(queues)
    entries = read_json(path).objects("the software of a queue")
    found = {name: software(name, entry, tally) for name, entry in entries.items()
             if name in known or name == EVERYWHERE}
    tally.count_all(f"entries in {path.name} of queues that the grid does not have",
                    (name for name in entries if name not in found))
    everywhere = found.pop(EVERYWHERE, None)
    origin = f"CRIC software {path.name}: {len(entries)} entries, of which {len(found)} are of queues of the grid"
    return found, everywhere, [origin, *tally.remarks()]


def software(name: str, entry: Mapping, tally: Tally) -> dict:
    """One entry as a scenario writes it."""
    found = _fields(name, entry, SOFTWARE, ("architectures", "tags"), tally)
    hardware = [_fields(name, each, HARDWARE, (), tally) for each in _objects(name, entry, "architectures", tally)]
    found["architectures"] = [each for each in hardware if each.get("type") in KINDS]
    tally.count_all("architectures that are neither cpu nor gpu, left out",
                    [name] * (len(hardware) - len(found["architectures"])))
    found["tags"] = [_fields(name, each, TAG, (), tally) for each in _objects(name, entry, "tags", tally)]
    return found


def _objects(name: str, entry: Mapping, key: str, tally: Tally) -> list[dict]:
    value = entry.get(key) or []
    listed = value if isinstance(value, list) else [value]
    found = [each for each in listed if isinstance(each, dict)]
    tally.count_all(f"{key} of queues that are no objects, left out", [name] * (len(listed) - len(found)))
    return found


def _fields(name: str, values: Mapping, known: Mapping[str, type], others: tuple[str, ...], tally: Tally) -> dict:
    """The known fields of an object as text or lists of text; a single text counts as a list of one."""
    tally.count_all("fields of software that nothing here reads, left out",
                    (f"{name}: {clean(key)}" for key in values if key not in known and key not in others))
    found = {}
    for key, kind in known.items():
        value = values.get(key)
        listed = value if isinstance(value, list) else [] if value is None else [value]
        texts = [clean(str(each)) for each in listed if isinstance(each, (str, int, float))]
        tally.count_all(f"{key} of software that are not text, left out", [name] * (len(listed) - len(texts)))
        if value is not None:
            found[key] = texts if kind is list else "".join(texts[:1])
    return found
