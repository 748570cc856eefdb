"""Reads rows of PanDA's table `config` as the part `gdpconfig` of a scenario; source: formats reference, section 8."""

from pathlib import Path
from typing import Any

from simgrid_broker.scenario.gdpconfig import find, typed
from simgrid_broker.scenario.importers.input_files import Tally
from simgrid_broker.scenario.importers.table_rows import Rows

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
