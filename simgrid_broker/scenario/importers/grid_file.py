"""Writes a grid as a YAML file that a scenario can extend, in units that are easy to read."""

import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import yaml

from simgrid_broker import units
from simgrid_broker.files import write_whole

_SIZES = ("PB", "TB", "GB", "MB")

WITH_UNIT: dict[str, tuple[Callable[[object], float], tuple[str, ...]]] = {
    **dict.fromkeys(("total", "free", "expired", "min_free", "unavailable"), (units.bytes_, _SIZES)),
    **dict.fromkeys(("maxrss", "minrss", "meanrss", "maxwdir", "memory_per_core"), (units.megabytes, _SIZES)),
    **dict.fromkeys(("maxtime", "mintime"), (units.seconds, ("h", "min", "s"))),
    **dict.fromkeys(("latency", "stage_latency"), (units.seconds, ("min", "s", "ms"))),
    "timefloor": (units.minutes, ("h", "min")),
    "bandwidth": (units.bytes_per_second, ("Gb/s", "Mb/s", "kb/s", "b/s")),
    **dict.fromkeys(("stage_in_rate", "file_rate"), (units.bytes_per_second, ("GB/s", "MB/s", "kB/s", "B/s"))),
}
"""Key to the parser that will read it, and its customary units, largest first."""

RUNNABLE = {"duration": "2 days", "shares": [{"name": "All", "value": 1}]}
"""Keys that a scenario needs besides its name and grid."""

LONGEST_NUMBER = 8
"""Most characters of a number with a unit; a longer one is written without."""

LONGEST_LINE = 6
"""Most plain values of a list or an object that is written on one line."""

WIDTH = 110

VERBATIM = ("params", "gdpconfig", "resource_types")
"""Keys whose inner values have no units."""


class _Dumper(yaml.CSafeDumper):
    """Writes short lists and objects of plain values on one line, the others in blocks."""

    def represent_sequence(self, tag, sequence, flow_style=None):
        """A list, short ones on one line."""
        return super().represent_sequence(tag, sequence, _is_short(sequence))

    def represent_mapping(self, tag, mapping, flow_style=None):
        """An object, short ones on one line."""
        return super().represent_mapping(tag, mapping, _is_short(mapping.values()))


def _is_short(values: Collection) -> bool:
    return len(values) <= LONGEST_LINE and not any(isinstance(value, (Mapping, list, tuple)) for value in values)


def write_grid(grid: Mapping, path: Path, remarks: Sequence[str], others: Mapping | None = None) -> None:
    """Write `grid`, a dict of YAML shape, with `remarks` (the origin first) as a comment at the head.

    Before it come a name, a duration and a share for everything, and `others`, further parts of a scenario, so that the
    file can be run as it is; a scenario that extends it replaces them. The file is written atomically, and reading it
    gives exactly the values of `grid`. Raises OutputError.
    """
    laid_out = {"name": path.stem, **RUNNABLE, **(others or {}), "grid": with_units(grid)}
    write_whole(path, head(remarks) + block(laid_out))


def write_part(part: Mapping, path: Path, remarks: Sequence[str], of: str = "scenario") -> None:
    """Write a part of a scenario, or snapshot, a dict of YAML shape, not usable alone; otherwise as `write_grid`."""
    write_whole(path, head(remarks, f"A part of a {of}", of) + block(with_units(part)))


def block(value: object) -> str:
    """A value as YAML, short lists and objects on one line."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=10**6, allow_unicode=False).removesuffix("...\n")


def head(remarks: Sequence[str], what: str = "A grid", user: str = "scenario") -> str:
    """The comment at the head of the file; user: what extends it."""
    lines = [f"{what} written by simgrid_broker; a {user} uses it with `extends:`."]
    for remark in remarks:
        plain = " ".join("".join(sign if sign.isprintable() else " " for sign in remark).split())
        lines += textwrap.wrap(plain, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False,
                               break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines) + "\n"


def with_units(value: object, key: str = "") -> object:
    """`value` with numbers in customary units; everything else unchanged."""
    if isinstance(value, Mapping):
        return {name: each if name in VERBATIM else with_units(each, name) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_units(each) for each in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _in_unit(value, *WITH_UNIT[key]) if key in WITH_UNIT else _plain(value)
    return value


def _in_unit(value: float, parse: Callable[[object], float], names: Sequence[str]) -> object:
    """Text with the largest unit that leaves at least one and loses nothing; else the plain number."""
    for name in names:
        number = f"{value / parse(f'1 {name}'):.{LONGEST_NUMBER}g}"
        if float(number) >= 1 and len(number) <= LONGEST_NUMBER and parse(f"{number} {name}") == float(value):
            return f"{number} {name}"
    return _plain(value)


def _plain(value: float) -> float:
    """A whole number without a point, unless it is too large to be written out."""
    return int(value) if float(value).is_integer() and abs(value) < 1e15 else value
