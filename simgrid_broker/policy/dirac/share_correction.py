"""Correction of shares by past usage: DIRAC's WMSHistory corrector; source: DIRAC reference, section 12."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from simgrid_broker.policy.dirac.priorities import whole_option

TIME_SPAN, WEIGHT, MAX_OF_SLICE, MAX_OF_ALL = 604_800, 1, 3, 5
"""Defaults of TimeSpan (s), Weight, MaxCorrection of a slice and MaxGlobalCorrection."""
OF_SLICE = {"TimeSpan": TIME_SPAN, "Weight": WEIGHT, "MaxCorrection": MAX_OF_SLICE}
"""Options of a slice with their defaults."""
CORRECTOR = "WMSHistory"


class Slice(NamedTuple):
    """A time slice of the history: its span, s, its weight, and the bound of its factor."""

    span: int
    weight: float
    bound: float


class Corrector(NamedTuple):
    """A corrector of the shares of all groups ("") or of the owners of one: time slices and the bound of the factor."""

    group: str
    slices: tuple[Slice, ...]
    bound: float


Usage = Mapping[tuple[int, str], Mapping[str, float]]
"""Usage of groups, or of the owners of a group, by (span in s, group or "")."""


def correctors_of(job_scheduling: Mapping[str, Any]) -> tuple[Corrector, ...]:
    """Correctors that the options below Operations/JobScheduling switch on; fractions are read as the default."""
    corrections = job_scheduling.get("ShareCorrections") or {}
    started = corrections.get("ShareCorrectorsToStart", ())
    started = started.split(",") if isinstance(started, str) else started
    if not is_on(job_scheduling.get("EnableSharesCorrection")) or CORRECTOR not in [name.strip() for name in started]:
        return ()
    return tuple(_corrector(options) for options in (corrections.get(CORRECTOR) or {}).values())


def correction_remarks(job_scheduling: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each option of share correction that has no effect, or another than it seems to."""
    corrections = job_scheduling.get("ShareCorrections") or {}
    if corrections and not correctors_of(job_scheduling):
        yield (f"ShareCorrections has no effect without EnableSharesCorrection and ShareCorrectorsToStart: {CORRECTOR}")
    for options in (corrections.get(CORRECTOR) or {}).values():
        if "MaxGlobalCorrectionFactor" in options:
            yield "MaxGlobalCorrectionFactor has no effect; DIRAC reads MaxGlobalCorrection"
        yield from _read_as_default(options, {"MaxGlobalCorrection": MAX_OF_ALL})
        for slice_ in options.values():
            if isinstance(slice_, Mapping):
                yield from _read_as_default(slice_, OF_SLICE)


def _read_as_default(options: Mapping[str, Any], defaults: Mapping[str, int]) -> Iterator[str]:
    for name, default in defaults.items():
        if name in options and whole_option(options[name], -1) == -1:
            yield f"{name} {options[name]!r} is not a whole number; DIRAC reads {default}"


def is_on(option: object) -> bool:
    """Whether an option is true; DIRAC reads y, yes, true, 1 and on."""
    return str(option).lower() in ("y", "yes", "true", "1", "on")


def corrected(shares: Mapping[str, float], group: str, correctors: Iterable[Corrector],
              usage: Usage) -> dict[str, float]:
    """Shares of groups (`group` ""), or of the owners of a group, after each corrector of theirs in turn."""
    found = dict(shares)
    for corrector in correctors:
        history = [usage.get((piece.span, group), {}) for piece in corrector.slices]
        if corrector.group == group and history and all(history):     # one slice without data: no history at all
            factors = _factors(found, corrector, history)
            found = {name: share * factors[name] for name, share in found.items()}
    return found


def _corrector(options: Mapping[str, Any]) -> Corrector:
    slices = [_slice(option) for option in options.values() if isinstance(option, Mapping)]
    total = sum(piece.weight for piece in slices) or 1.0
    return Corrector(options.get("Group", ""), tuple(piece._replace(weight=piece.weight / total) for piece in slices),
                     whole_option(options.get("MaxGlobalCorrection"), MAX_OF_ALL))


def _slice(options: Mapping[str, Any]) -> Slice:
    return Slice(whole_option(options.get("TimeSpan"), TIME_SPAN), whole_option(options.get("Weight"), WEIGHT),
                 whole_option(options.get("MaxCorrection"), MAX_OF_SLICE))


def _factors(shares: Mapping[str, float], corrector: Corrector,
             history: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Factor of each share: expected over used part, by slice, bounded.

    What is absent from a slice gets its whole bound, unweighted, as in DIRAC; usage 0 counts as absent (DIRAC fails).
    """
    expected, sums = sum(shares.values()), dict.fromkeys(shares, 0.0)
    used_at_all = False
    for piece, used in zip(corrector.slices, history, strict=True):
        total = sum(used.get(name, 0) for name in shares)
        if not total or not expected:
            continue
        used_at_all = True
        for name, share in shares.items():
            if part := used.get(name, 0) / total:
                sums[name] += piece.weight * _within(share / expected / part, piece.bound)
            else:
                sums[name] += piece.bound
    return {name: _within(factor, corrector.bound) if used_at_all else 1.0 for name, factor in sums.items()}


def _within(factor: float, bound: float) -> float:
    return min(max(factor, 1 / bound), bound)
