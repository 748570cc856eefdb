"""Refusals in words: figures with their units, in the sentence of the rule that compared them.

A sentence has the fields `{value}` and `{limit}`, the figures in the unit of the rule, and `{text}`, a value that is a
name. `{value:plain}` leaves the unit out, `{value:binary}` writes bytes in KiB, MiB, GiB.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from string import Formatter

from simgrid_broker.units import DAY, GIB, HOUR, KIB, MB, MIB, MINUTE

MORE_DIGITS = 13
"""Digits that are added at most, until two different figures read differently."""
FALLBACK = "{value}, limit {limit}"
"""Sentence of a rule with figures that has none of its own."""
DECIMAL, BINARY = ("B", "kB", "MB", "GB", "TB", "PB", "EB"), ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
TIMES = (("d", DAY), ("h", HOUR), ("min", MINUTE), ("s", 1.0))
COUNTED = ("jobs", "files", "cores", "events", "pilots")
"""Units that are nouns, without their last letter for 1."""
CLAUSES = re.compile(r"(?<=[,;]) ")


def worded(says: str, unit: str, value: float | None, limit: float | None, text: str = "") -> str:
    """The sentence of a refusal, empty if there is nothing to say; unknown figures are None or NaN.

    Clauses, which commas or semicolons separate, are left out if they name a figure or text that is not known. Figures
    have as many digits as it takes to tell value and limit apart.
    """
    figures = {name: number for name, number in (("value", value), ("limit", limit))
               if number is not None and not math.isnan(number)}
    known = {*figures, *(("text",) if text else ())}
    clauses = [clause for clause in CLAUSES.split(says or FALLBACK) if _fields(clause).keys() <= known]
    sentence, found = " ".join(clauses).rstrip(",;"), {"text": text}
    forms = {name: form or unit for name, form in _fields(sentence).items() if name in figures}
    for more in range(MORE_DIGITS):
        found |= {name: figure(figures[name], form, more) for name, form in forms.items()}
        if len(forms) < 2 or value == limit or found["value"] != found["limit"]:
            break
    return re.sub(r"\{(\w+)[^}]*\}", lambda field: found[field[1]], sentence)


def figure(number: float, unit: str, more: int = 0) -> str:
    """A number with its unit for a reader: "1.8 GB", "2 h 40 min", "1 job", "60 %"; more: digits beyond the usual."""
    if math.isinf(number):
        return "unlimited" if number > 0 else "none"
    if unit in FORMS:
        return FORMS[unit](number, more)
    if unit.startswith("part of"):
        return f"{100 * number:.{3 + more}g} %"
    word = unit[:-1] if unit in COUNTED and number == 1 else unit
    return f"{plain(number, more)} {word}".rstrip()


def plain(number: float, more: int = 0) -> str:
    """A number: whole ones and those from 1000 on in full, with thousands apart, others with four digits."""
    if number == int(number) and abs(number) < 1e15:
        return f"{number:,.0f}"
    return f"{number:,.{more}f}" if 1000 <= abs(number) < 1e15 else f"{number:.{4 + more}g}"


def size(number: float, more: int = 0, of: float = 1, step: int = 1000, units: Sequence[str] = DECIMAL) -> str:
    """A size in units of `of` bytes: one digit behind the point below 100."""
    number *= of
    place, rest = 0, abs(number)
    while place < len(units) - 1 and round(rest, _decimals(rest, place, more)) >= step:
        place, rest = place + 1, rest / step
    return f"{math.copysign(rest, number):,.{_decimals(rest, place, more)}f} {units[place]}"


def _decimals(number: float, place: int, more: int) -> int:
    """Digits behind the point; whole bytes have none."""
    return more + (number < 100) if place else more * (number != int(number))


def duration(number: float, more: int = 0) -> str:
    """A time, s, in its two largest units, or `more` than two: "2 h 40 min"; seconds may have decimals."""
    largest = next((place for place, (_, scale) in enumerate(TIMES) if abs(number) >= scale), len(TIMES) - 1)
    smallest = min(largest + 1 + more, len(TIMES) - 1)
    digits = largest + 2 + more - len(TIMES)                    # of a second
    step = 10.0 ** -digits if digits > 0 else TIMES[smallest][1]
    rest, words = round(abs(number) / step) * step, []
    for unit, scale in TIMES[:smallest]:
        whole, rest = divmod(rest, scale)
        words += [f"{whole:.0f} {unit}"] if whole else []
    last, scale = TIMES[smallest]
    if amount := round(rest / scale, max(digits, 0)):
        words.append(f"{amount:.15g} {last}")
    return ("-" if number < 0 else "") + (" ".join(words) or "0 s")


FORMS: dict[str, Callable[[float, int], str]] = {
    "bytes": size, "MB": partial(size, of=MB), "s": duration, "": plain, "plain": plain, "weight": plain,
    "binary": partial(size, step=KIB, units=BINARY), "MiB": partial(size, of=MIB, step=KIB, units=BINARY),
    "GiB": partial(size, of=GIB, step=KIB, units=BINARY), "closeness": plain, "class": plain}
"""Functions of a number and further digits, by the unit of the number; other units are written behind it."""


def labels(criteria: Sequence[str], tags: Sequence[str]) -> list[str]:
    """Name of each rule of a broker: its tag, with its own name where several share the tag."""
    rules = Counter(tags)
    return [f"{tag} ({name.removesuffix('_deployed').replace('_', ' ')})" if rules[tag] > 1 else tag
            for name, tag in zip(criteria, tags, strict=True)]


def first_sentence(docstring: str | None) -> str:
    """The first paragraph of a docstring on one line."""
    return " ".join((docstring or "").split("\n\n")[0].split())


def _fields(says: str) -> dict[str, str]:
    """Fields of a sentence, and the form in which it wants each."""
    return {name: form or "" for _, name, form, _ in Formatter().parse(says) if name}
