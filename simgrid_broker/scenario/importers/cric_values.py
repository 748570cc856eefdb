"""Reads values of CRIC objects as real and hand-made files hold them: numbers as text, nulls, options.

Sources: formats reference, sections 0 and 1.4, checklist 16.
"""

import re
from collections.abc import Mapping
from numbers import Real
from typing import Any

from simgrid_broker.scenario.importers.input_files import Tally
from simgrid_broker.scenario.importers.text_tables import finite_number

LARGEST = 1e15
"""Numbers beyond this are taken to be mistakes."""

_POLICY = re.compile(r"(?:(?:(?:type|group|gshare)=[^:=,;]*|priority(?:<=|>=|<|=|>)-?\d+|any):)+\s*\d+(?:\.\d+)?\s*%?")


def nothing(value: object) -> bool:
    """Whether a value is missing: null and "" count as a missing key."""
    return value is None or (isinstance(value, str) and not value.strip())


def number_of(value: Any) -> float | None:
    """The number that a value holds, as a number or as text, or None."""
    if isinstance(value, str):
        value = finite_number(value.strip())
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return float(value) if is_number and -LARGEST <= value <= LARGEST else None


def clean(text: str) -> str:
    """Text that any file can hold: half characters, which JSON lets pass, become question marks."""
    return text.encode("utf-8", "replace").decode()


def well_formed(policy: str) -> bool:
    """Whether each part of a `fairsharepolicy` has the form field:...:share; source: formats reference, section 1.3."""
    return all(_POLICY.fullmatch(part.strip()) for part in policy.split(","))


class Fields:
    """Fields of one CRIC object, read with defaults; whatever cannot be read is counted in `tally` under `kind`."""

    def __init__(self, name: str, values: Mapping[str, object], tally: Tally, kind: str = "queues"):
        self.name, self._values, self._tally, self._kind = name, values, tally, kind

    def raw(self, key: str) -> object:
        """The value as written, None if it is missing."""
        value = self._values.get(key)
        return None if nothing(value) else value

    def remark(self, what: str) -> None:
        """Count this object as a case of `what`."""
        self._tally.count(f"{self._kind} {what}", self.name)

    def number(self, key: str, default: float = 0.0, least: float = 0.0) -> float:
        """A number; `default` if it is missing, or (with a remark) not a number or below `least`."""
        value = self.raw(key)
        if value is None:
            return default
        found = number_of(value)
        if found is None or found < least:
            self.remark(f"whose {key} is not a number from {least:g} up, read as {default:g}")
            return default
        return found

    def whole(self, key: str, default: int = 0, least: int = 0) -> int:
        """A whole number, rounded towards zero as PanDA does; otherwise as `number`."""
        return int(self.number(key, default, least))

    def text(self, key: str, default: str = "") -> str:
        """Text without blanks around it, of a number too; the default for a list or an object (with a remark)."""
        value = self.raw(key)
        if isinstance(value, (list, dict)):
            self.remark(f"whose {key} is not text, read as {default!r}")
            return default
        return default if value is None else clean(str(value)).strip()

    def word(self, key: str, known: tuple[str, ...], default: str) -> str:
        """One of the `known` words in any case; `default` for another one (with a remark) or none."""
        found = self.text(key, default).lower()
        if found not in known:
            self.remark(f"whose {key} is not one of {', '.join(known)}, read as {default}")
        return found if found in known else default

    def flag(self, key: str) -> bool:
        """A boolean; only the JSON value true counts."""
        return self._values.get(key) is True

    def object(self, key: str) -> Mapping[str, object]:
        """An object, empty if nothing is said or if it is something else (with a remark)."""
        value = self.raw(key)
        if isinstance(value, dict):
            return value
        if value:
            self.remark(f"whose {key} is not an object, left out")
        return {}

    def items(self) -> list[str]:
        """Items of `catchall`."""
        return [item.strip() for item in self.text("catchall").split(",") if item.strip()]

    def options(self) -> dict[str, Any]:
        """Flat options of `params`, and of its nested form `uconfig` where `params` lacks them."""
        return {**flat(self.object("uconfig")), **flat(self.object("params"))}

    def has_option(self, key: str) -> bool:
        """Whether an option is present: in `params`, or an item of `catchall` begins with it."""
        return key in self.options() or any(item.startswith(key) for item in self.items())


def flat(nested: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """A nested object as one of scalars, names joined by dots; lists and nulls are left out."""
    found: dict[str, object] = {}
    for key, value in nested.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{key}.")
        elif isinstance(value, (str, bool)):
            found[clean(prefix + key)] = clean(value) if isinstance(value, str) else value
        elif number_of(value) is not None:
            found[clean(prefix + key)] = value
    return found
