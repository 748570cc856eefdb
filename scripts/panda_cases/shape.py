"""Shape of the cases of a kind: type of every field that a door reads, and what it counts as if it is null or absent.

A door that has a shape answers every case. A value of another type, out of range or not among the known words counts as
null, and is named in `limits` of the answer.
"""

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Refused = list[str]
"""Values that cannot be used, each with its place in the case."""
Reader = Callable[[Any, str, Refused], Any]
"""Reads a value that stands at a place, and notes there what it refuses."""
MOST = 2.0 ** 40
"""Largest size of a number, far above all that is recorded; bytes have a bound of their own."""
MOST_BYTES = 2.0 ** 53


def reads(**of: Reader) -> Callable[[Callable[[dict], dict]], Callable[[dict], dict]]:
    """Decorator of an answer: its case has the shape of the readers, and `limits` begins with what they refuse."""
    read = fields(**of)

    def decorated(answer: Callable[[dict], dict]) -> Callable[[dict], dict]:
        @functools.wraps(answer)
        def answer_to(case: dict) -> dict:
            refused: Refused = []
            found = answer(read(case, "", refused))
            return found | dict(limits=[*refused, *found.get("limits", ())])
        return answer_to
    return decorated


def fields(optional: bool = False, rest: Reader | None = None, **of: Reader) -> Reader:
    """An object with these fields, all of them null where it is null itself, unless it is optional; others go with it.

    rest: reads the other fields, of which those that are null are left out; None = they stay as they are.
    """
    def read(value: Any, place: str, refused: Refused) -> dict | None:
        if value is None and optional:
            return None
        given = _given(value, Mapping, {}, place, refused)
        others = {name: one for name, one in given.items() if name not in of}
        if rest is not None:
            others = {name: rest(one, f"{place}.{name}", refused) for name, one in others.items()}
            others = {name: one for name, one in others.items() if one is not None}
        return others | {name: reader(given.get(name), f"{place}.{name}", refused) for name, reader in of.items()}
    return read


def named(each: Reader) -> Reader:
    """An object of values by name, none where it is null."""
    return fields(rest=each)


def rows(each: Reader, *needs: str) -> Reader:
    """A list, empty where it is null, without members that are null, of another type, or null in a field of `needs`."""
    def read(value: Any, place: str, refused: Refused) -> list:
        found = []
        for position, one in enumerate(_given(value, list, [], place, refused)):
            own, notes = f"{place}[{position}]", list[str]()
            member = each(one, own, notes)
            refused += notes or ([_note(own, one)] if one is None else [])
            if one is None or _note(own, one) in notes:
                continue
            lacks = [f"{own.lstrip('.')} without {name}" for name in needs if member[name] is None]
            refused += lacks
            found += [] if lacks else [member]
        return found
    return read


def real(null: float | None = None, least: float = -MOST, most: float = MOST, whole: bool = False) -> Reader:
    """A number within bounds; null: what it counts as where it is null."""
    def read(value: Any, place: str, refused: Refused) -> Any:
        fits = (isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(_float(value))
                and least <= value <= most and not (whole and value != int(value)))
        return (int(value) if whole else value) if fits else _null(value, null, place, refused)
    return read


def whole(null: int | None = None, least: float = -MOST, most: float = MOST) -> Reader:
    """A whole number."""
    return real(null, least, most, whole=True)


def text(null: str | None = None, known: Iterable[str] = ()) -> Reader:
    """A text, of the known words if there are any."""
    words = frozenset(known)

    def read(value: Any, place: str, refused: Refused) -> str | None:
        fits = isinstance(value, str) and (not words or value in words)
        return value if fits else _null(value, null, place, refused)
    return read


def flag(null: bool | None = False) -> Reader:
    """True or false, also as a number."""
    def read(value: Any, place: str, refused: Refused) -> bool | None:
        return bool(value) if isinstance(value, int) else _null(value, null, place, refused)
    return read


def either(*readers: Reader) -> Reader:
    """The first of several types that a value has."""
    def read(value: Any, place: str, refused: Refused) -> Any:
        for reader in readers:
            notes: Refused = []
            found = reader(value, place, notes)
            if not notes:
                return found
        refused += notes
        return found
    return read


def unknown(value: Any, place: str, refused: Refused) -> None:
    """Of what a door knows nothing."""
    return _null(value, None, place, refused)


def _given(value: Any, kind: type, empty: Any, place: str, refused: Refused) -> Any:
    return value if isinstance(value, kind) else _null(value, empty, place, refused)


def _null(value: Any, null: Any, place: str, refused: Refused) -> Any:
    """The value of null; what is not null itself is refused."""
    if value is not None:
        refused.append(_note(place, value))
    return null


def _note(place: str, value: Any) -> str:
    return f"{place.lstrip('.')} = {value!r}"[:200]


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
