"""Why a share misses its target in words: a sentence, and the sweep that shows what a change brings and costs."""

import json
import math
from typing import Any

from simgrid_broker.gdpconfig import HIGHER, LOWER
from simgrid_broker.metrics.chain import ARRIVED, LINKS, SLOTS, UNKNOWN, Cause, Why, all_chains, why
from simgrid_broker.metrics.refusals import last_verdict
from simgrid_broker.metrics.settings import NO_LIMITS, entry_of, is_eased_by_lower, most_eased, of_template
from simgrid_broker.metrics.shares import NEAR
from simgrid_broker.records import Run
from simgrid_broker.wording import plain

FEW = 4
"""Part of the places with the most frequent value, as its inverse, from which another value is of many places."""
TWICE, TENFOLD = 2, 10
"""Factors between the values that a sweep tries: of a limit that was compared, at least, and of any other number."""
CAP = "gdpconfig.NRUNNINGCAP_"
WORKFLOWS = {"pull_ups": "pull", "pull": "pull_ups"}
"""The other way in which workers come to the jobs of a queue: for one resource type, or for whatever waits."""
MOST_PLACES = 8
"""Queues, sites or storages that a setting names; more are a star."""


def sentence(each: Why) -> str:
    """Cores that a share got of its target and of what its tasks could use, and the first narrow link with its rule."""
    got = f"{each.share} got {plain(round(each.delivered))} of its {plain(round(each.target))} cores"
    if each.delivered >= (1 - NEAR) * each.target:
        return f"{got}."
    if each.is_work_short and not each.is_short:
        return f"{got}: its tasks had work for {plain(round(each.could_use))}."
    could = f", its tasks could have used {plain(round(each.could_use))}" if each.is_work_short else ""
    return f"{got}{could}: {clause(each.limit) if each.limit else UNKNOWN}."


def clause(cause: Cause) -> str:
    """The link and rule of a cause with its figures and the hours in which it was first."""
    is_compared = not math.isnan(cause.limit) and (cause.value or cause.limit) and cause.link != LINKS[ARRIVED]
    figures = "" if not is_compared else f" ({plain(round(cause.value))}, limit {plain(round(cause.limit))})"
    hours = f"{plain(round(cause.hours))} h" if cause.hours >= 1 else "less than an hour"
    return f"{cause.link}, {cause.rule}{figures}, in {hours}"


def verdict_in_words(run: Run, share: str) -> str:
    """The last verdict of the throttler about a share, as the end of a sentence; empty if none is recorded."""
    verdict = last_verdict(run, share)
    if verdict is None:
        return ""
    if not verdict.rule:
        return f", although the throttler of {share} lets it"
    figures = "" if not verdict.limit else f", {plain(round(verdict.value))} jobs, limit {plain(round(verdict.limit))}"
    keys = " or ".join(setting.removeprefix("gdpconfig.") for setting in verdict.settings)
    return f": the throttler of {share} says {verdict.rule}{figures}" + (f" ({keys})" if keys else "")


def setting_in_force(run: Run, setting: str) -> Any:
    """The value of a dotted setting in a run; None if it is not set, or names no single place."""
    if setting.startswith("gdpconfig."):
        key, found = setting.removeprefix("gdpconfig."), run.manifest["gdpconfig"]
        return next((entry["value"] for name, entry in found.items() if name.partition(".")[2] == key), None)
    value: Any = run.manifest["scenario"]
    for part in setting.split("."):
        if isinstance(value, list):
            value = next((each for each in value if each.get("name") == part), None)
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return of_template(run, setting) if value is None else value


def value_in_force(run: Run, setting: str) -> Any:
    """As `setting_in_force`; of a key of gdpconfig that is not set, the value of its family or its default."""
    value, entry = setting_in_force(run, setting), entry_of(setting)
    if value is not None or entry is None:
        return value
    family = setting_in_force(run, f"gdpconfig.{entry.prefix}") if entry.is_family else None
    return entry.default if family is None else family


def variation(run: Run, cause: Cause) -> tuple[str, tuple[Any, ...]] | None:
    """The first setting of a cause that a sweep can vary, with values, the one in force first, the last eases it most.

    A setting of several queues, sites or storages is one, with a star for all names or some in braces. None if no
    setting has a value that eases it.
    """
    for setting in cause.settings:
        if values := values_to_try(run, setting, cause):
            return _varied(run, setting, cause), values
    return None


def values_to_try(run: Run, setting: str, cause: Cause) -> tuple[Any, ...]:
    """Values of a setting for a sweep, the one in force first; none where no value follows from the run.

    A limit moves until what was compared with it passes, and once more as far, another number by powers of ten;
    attributes of queues end at their defaults, the space of storages at its size, what a lower value eases at 0, a
    period at a tenth.
    """
    found = [value for place in _eased(run, setting, cause) if (value := value_in_force(run, place)) is not None]
    value = max(found, key=found.count) if found else None
    entry, end = entry_of(setting), most_eased(run, setting)
    if setting.rpartition(".")[2] in NO_LIMITS:
        return ()
    if isinstance(value, bool):
        return value, not value
    if cause.link == LINKS[SLOTS] and setting.startswith(CAP):
        return value, *_caps_of(run, setting.removeprefix(CAP))
    if setting.endswith(".workflow"):
        return (value, WORKFLOWS[value]) if value in WORKFLOWS else ()
    if isinstance(value, str) or setting.startswith("grid.storages."):
        return () if end in ((), (value,)) else (value, *end)
    if value is None:
        known = entry is not None and entry.eased_by != LOWER and cause.value > 0
        return tuple(math.ceil(cause.value * factor) for factor in (TWICE, TWICE ** 2)) if known else ()
    if not isinstance(value, int | float) or value <= 0:
        return ()
    if is_eased_by_lower(setting):
        least = rounded(value, 1 / TENFOLD) if setting.startswith("agents.") else 0
        return value, rounded(value, 1 / TWICE), least
    compared = cause.value / cause.limit if cause.limit > 0 else TENFOLD if cause.limit == 0 or entry is None else TWICE
    step = max(TWICE, compared)
    further = rounded(value, step * (TWICE if cause.limit > 0 or entry else TENFOLD))
    return value, rounded(value, step), *(end or (further,))


def _caps_of(run: Run, share: str) -> tuple[int, ...]:
    """Running jobs with which a share fills its target, and half as many."""
    rows, (each,) = run.table("shares", ["share", "running", "running_cores"]), why(run, share)
    rows = rows[rows.share.astype(object) == share]
    size = rows.running_cores.sum() / max(rows.running.sum(), 1)
    return tuple(math.ceil(each.target / max(size, 1) / part) for part in (1, TWICE))


def rounded(value: float, factor: float) -> float:
    """A value times a factor, whole if the value is, else with three digits."""
    return math.ceil(value * factor) if isinstance(value, int) else float(f"{value * factor:.3g}")


def relaxed(run: Run, cause: Cause) -> dict[str, Any]:
    """The last value of the sweep of a cause by its setting, for `Scenario.with_values`; empty if there is none."""
    found = variation(run, cause)
    return {} if found is None else {found[0]: found[1][-1]}


def _eased(run: Run, setting: str, cause: Cause) -> list[str]:
    """Names of the settings that are the same attribute at other places, but for those that are eased already.

    Only those of the usual value if they are half of the others, so that the first point of a sweep is the run. Of
    numbers it is the one that lets least pass among those of many places: the others are not what refuses work.
    """
    where, name, attribute = _split(setting)
    if name == "*":
        kind = where.rpartition(".")[2]
        places = [f"{where}.{each}.{attribute}" for each in run.manifest["scenario"]["grid"][kind]]
    else:
        places = [other for other in cause.settings if _split(other)[::2] == (where, attribute)] if name else [setting]
    given = {place: setting_in_force(run, place) for place in places}
    values = {place: value for place, value in given.items() if (value,) != most_eased(run, place)}
    found = list(values.values())
    if not found:
        return places
    many = [value for value in found if FEW * found.count(value) >= max(map(found.count, found))]
    if all(isinstance(value, int | float) for value in many):
        chosen = max(many) if is_eased_by_lower(setting) else min(many)
    else:
        chosen = max(found, key=found.count)
    usual = [place for place, value in values.items() if value == chosen]
    return usual if TWICE * len(usual) >= len(values) > 0 else list(values) or places


def _varied(run: Run, setting: str, cause: Cause) -> str:
    """The setting of a sweep: at all places with a star, at some with their names in braces."""
    where, name, attribute = _split(setting)
    names = [_split(place)[1] for place in _eased(run, setting, cause)]
    if len(names) < 2:
        return _eased(run, setting, cause)[0]
    every = len(run.manifest["scenario"]["grid"][where.removeprefix("grid.")]) if name == "*" else 0
    some = "*" if len(names) == every or len(names) > MOST_PLACES else f"{{{','.join(names)}}}"
    return f"{where}.{some}.{attribute}"


def _split(setting: str) -> tuple[str, str, str]:
    """A setting as mapping, name in it and attribute; no name for a key of gdpconfig and what is no attribute."""
    parts = setting.split(".")
    if setting.startswith("gdpconfig.") or len(parts) < 4 or parts[2] == "default":
        return setting, "", ""
    return ".".join(parts[:2]), parts[2], ".".join(parts[3:])


def sweep_of(run: Run, cause: Cause, share: str) -> str:
    """A command that repeats a run with other values of the first setting of a cause, and gives what the share and the
    leaf share that is furthest above its target get; empty if there is none."""
    if (found := variation(run, cause)) is None:
        return ""
    others = [each for each in why(run) if each.share != share and each.delivered > each.target]
    payer = max(others, key=lambda each: each.delivered - each.target, default=None)
    figures = [f"shares.{name}.cores" for name in (share, *((payer.share,) if payer else ()))]
    vary = f"{found[0]}={','.join(_in_yaml(value) for value in found[1])}"
    return " ".join([f"simgrid-broker sweep {_quoted(str(run.folder))} --vary {_quoted(vary)}",
                     *(f"--figure {_quoted(figure)}" for figure in figures)])


def without_sweep(cause: Cause) -> str:
    """A sentence about a cause for which no sweep follows from the run."""
    if cause.settings:
        return f"No sweep: the run does not tell which value of {cause.settings[0]} lets more pass."
    if cause.link == LINKS[SLOTS]:
        return ("No sweep: no setting of the scenario is behind this. A share gets slots as the jobs in them end; "
                "other work, other targets of the shares or more cores change it.")
    return "No sweep: no setting of the scenario is behind this."


def _in_yaml(value: Any) -> str:
    """A value as an element of a list of the option --vary."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) and value.replace("_", "").isalpha() else json.dumps(value)


def in_effect(run: Run, key: str, unit: str, limit: float) -> str:
    """A key of gdpconfig behind a refusal with its value in force, and the value from which it acts.

    A higher value of a key below the limit that was met changes nothing up to there: another term of the rule is
    larger. unit: of the limit.
    """
    entry, value = entry_of(f"gdpconfig.{key}"), value_in_force(run, f"gdpconfig.{key}")
    if entry is None or isinstance(value, str | None):
        return key
    acts = f", acts above {plain(limit)} only" if (
        entry.eased_by == HIGHER and entry.unit == unit and not isinstance(value, bool) and value < limit) else ""
    return f"{key} ({plain(value)}{acts})"


def _quoted(text: str) -> str:
    return f"'{text}'" if set(text) & set(' *()|&<>{}"%:') else text


def limits(run: Run) -> dict[str, str]:
    """In a few words why each node of the share tree is below its target; empty for one that is not."""
    return {each.share: _limit(each) for each in all_chains(run)}


def sentences(run: Run, most: int = 3) -> list[str]:
    """Why the leaf shares are short that miss most cores, at most so many, each in one sentence."""
    short = sorted((each for each in why(run) if each.is_short), key=lambda each: each.delivered - each.could_use)
    return [sentence(each) for each in short[:most]]


def _limit(each: Why) -> str:
    """The cause that lost most in a few words."""
    cause = each.cause
    if cause is None:
        return ""
    if cause.link == LINKS[ARRIVED]:
        return "little work" if each.widths[ARRIVED] >= 1 else "no work"
    return f"{cause.link}: {cause.rule}"
