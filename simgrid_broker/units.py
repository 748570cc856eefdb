"""Units: reading a time, size, rate or fraction from text, and writing one for a reader.

A parser takes a number, which is already in the parser's unit, or text with a unit ("72h", "16 GB", "40 Gb/s"), and
returns a float; it raises ValueError with a sentence that says what to write. kB, MB, ... are powers of 1000 and KiB,
MiB, ... powers of 1024; a small b is a bit, and only rates have bits.
"""

import math
import re
import sys
from numbers import Real

MINUTE, HOUR, DAY, WEEK = 60.0, 3600.0, 86400.0, 604800.0
"""Lengths in seconds."""

MB, GB, TB = 1e6, 1e9, 1e12
KIB, MIB, GIB = 1024, 1024**2, 1024**3
"""Sizes in bytes."""

TIME_UNITS = {"ms": 1e-3, **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
              **dict.fromkeys(("m", "min", "minute", "minutes"), MINUTE), **dict.fromkeys(("h", "hour", "hours"), HOUR),
              **dict.fromkeys(("d", "day", "days"), DAY), **dict.fromkeys(("w", "week", "weeks"), WEEK)}
"""Unit of time to seconds."""

SIZE_UNITS = {**{f"{prefix}B": 1000.0**power for power, prefix in enumerate(("", "k", "M", "G", "T", "P", "E"))},
              **{f"{prefix}iB": 1024.0**power for power, prefix in enumerate(("K", "M", "G", "T", "P", "E"), start=1)},
              "KB": 1000.0}
"""Unit of size to bytes."""

BIT_UNITS = {f"{prefix}{bit}": 1000.0**power / 8
             for power, prefix in enumerate(("", "k", "M", "G", "T")) for bit in ("b", "bit")}
"""Unit of bits to bytes; they are read in rates only."""

RATE_UNITS = {
    **{f"{amount}/{time}": scale / TIME_UNITS[time]
       for amount, scale in (SIZE_UNITS | BIT_UNITS).items() for time in TIME_UNITS},
    **{f"{bit}ps": scale for bit, scale in BIT_UNITS.items() if bit.endswith("b")},
}
"""Unit of rate to bytes/s."""

_QUANTITY = re.compile(r"([-+]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z%/]*)", re.ASCII)

_BETWEEN = re.compile(r"(?<=[A-Za-z])\s+(?=\d)")
"""Between the parts of a time of several units."""
_CLOCK = re.compile(r"noon|midnight|\d:\d\d|today|tomorrow", re.IGNORECASE)
"""Text that means a time of day."""


def seconds(value) -> float:
    """A time in seconds from a number of seconds or text such as "72h", "30 min", "2 days", "1 d 3 h"."""
    parts = _BETWEEN.split(value.strip()) if isinstance(value, str) else []
    try:
        return sum(_time(part) for part in parts) if len(parts) > 1 and parts[0][0].isdigit() else _time(value)
    except ValueError:
        return _time(value)


def _time(value) -> float:
    is_clock = isinstance(value, str) and _CLOCK.search(value)
    return _read(value, TIME_UNITS, 1.0, "a time", "a number of seconds or text such as '72h'"
                 + (" or '1 d 12 h'; nothing reads a time of day" if is_clock else ""))


def minutes(value) -> float:
    """A time in minutes from a number of minutes or text such as "90 min", "2 h"."""
    return _read(value, TIME_UNITS, MINUTE, "a time", "a number of minutes or text such as '2 h'")


def bytes_(value) -> float:
    """A size in bytes from a number of bytes or text such as "10 GB", "1.5 GiB"."""
    return _read(value, SIZE_UNITS, 1.0, "a size", "a number of bytes or text such as '10 GB'")


def megabytes(value) -> float:
    """A size in MB (10^6 bytes) from a number of MB or text such as "16 GB"."""
    return _read(value, SIZE_UNITS, 1e6, "a size", "a number of MB or text such as '16 GB'")


def bytes_per_second(value) -> float:
    """A rate in bytes/s from a number of bytes/s or text such as "30 MB/s", "40 Gb/s", "2 TB/day"."""
    return _read(value, RATE_UNITS, 1.0, "a rate", "a number of bytes/s or text such as '30 MB/s' or '40 Gb/s'")


def fraction(value) -> float:
    """A fraction from a number or text such as "5%"; the range is not looked at."""
    return _read(value, {"%": 1.0}, 100.0, "a fraction", "a number such as 0.05 or text such as '5%'")


def sample(value) -> float:
    """A fraction from true (all), false (none), or what `fraction` reads."""
    return float(value) if isinstance(value, bool) else fraction(value)


def format_seconds(value: float) -> str:
    """A time for a reader, in the largest unit that leaves at least one: "1.5 h"; four digits. Days that are not whole
    go with hours: "1 d 3 h".
    """
    days, rest = divmod(round(abs(value) / MINUTE), DAY // MINUTE) if math.isfinite(value) else (0, 0)
    if 0 < days < 1000 and rest and value >= DAY:
        return f"{days:.0f} d {format_seconds(rest * MINUTE)}"
    scales = (("d", DAY), ("h", HOUR), ("min", MINUTE), ("s", 1.0))
    unit, scale = next((s for s in scales if s[1] <= abs(value) < math.inf), scales[-1])
    number = value / scale
    return f"{number:.0f} {unit}" if 1000 <= abs(number) else f"{number:.4g} {unit}"


def _read(value, scales: dict[str, float], unit: float, thing: str, write: str) -> float:
    """`value` as a finite float in the unit that is `unit` times the base of `scales`."""
    number = math.nan
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    if is_real and abs(value) <= sys.float_info.max:
        number = float(value)
    elif isinstance(value, str) and (match := _QUANTITY.fullmatch(value.strip())):
        number = float(match[1])
        if match[2]:
            number = number * scales.get(match[2], math.nan) / unit
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not {thing}; write {write}")
    return number
