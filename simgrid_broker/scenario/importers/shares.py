"""Reads operators' tables as parts of a scenario: global shares, resource types and Harvester's slots.

Source: formats reference, section 7. Shares are rows of GLOBAL_SHARES, or a tree of objects with name, value, children.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simgrid_broker.errors import nearest
from simgrid_broker.names import KNOWN_RESOURCE_TYPES
from simgrid_broker.scenario.importers.input_files import BadLines, JsonFile, Tally, read_json
from simgrid_broker.scenario.importers.table_rows import Rows, line_of

PATTERNS = ("prodsourcelabel", "workinggroup", "campaign", "processingtype", "transpath", "rtype")
"""Columns with the regular expressions that tag tasks."""
UNUSED = ("vo", "queue_id")
BOUNDS = ("mincore", "maxcore", "minrampercore", "maxrampercore")
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
    if not any(name in leaf for leaf in leaves for name in PATTERNS):
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
    rows.only(("name", "value", "parent", "throttled", *PATTERNS, *UNUSED))
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
    for name in PATTERNS:
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
    parents, seen = {row.get("name"): row.get("parent") for row in rows.rows}, set[str]()
    while other is not None and other not in seen:
        if other == name:
            return True
        seen.add(other)
        other = parents.get(other)
    return False


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
        children = [share(child) for child in node.get("children") or ()]
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
