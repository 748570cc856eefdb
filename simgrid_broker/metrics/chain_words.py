"""Why a share misses its target in words: a sentence, and the sweep that shows what a change brings and costs."""

import json
import math
from typing import Any

from simgrid_broker.gdpconfig import HIGHER, LOWER
from simgrid_broker.metrics.chain import ARRIVED, LINKS, UNKNOWN, Cause, Why, all_chains, last_verdict, why
from simgrid_broker.metrics.settings import default_of, entry_of
from simgrid_broker.metrics.shares import NEAR
from simgrid_broker.records import Run
from simgrid_broker.wording import plain

TWICE = 2
"""Factor between the values that a sweep tries, at least."""
TENFOLD = 10
"""Factor for a key that lets nothing pass, as a fifth of an NQUEUECAP below 5 is no job."""
GROWN = 5
"""Factor by which a number that nothing was compared with is relaxed beyond those values."""


def sentence(each: Why) -> str:
    """Cores that a share got of its target and of what its tasks could use, and the first narrow link with its rule."""
    got = f"{each.share} got {plain(round(each.delivered))} of its {plain(round(each.target))} cores"
    if each.delivered >= (1 - NEAR) * each.target:
        return f"{got}."
    if each.is_work_short and not each.is_short:
        return f"{got}: its tasks had work for {plain(round(each.could_use))}."
    could = f", its tasks could have used {plain(round(each.could_use))}" if each.is_work_short else ""
    limits = [cause for cause in each.causes if cause.link != LINKS[ARRIVED]]
    return f"{got}{could}: {clause(limits[0]) if limits else UNKNOWN}."


def clause(cause: Cause) -> str:
    """The link and rule of a cause with its figures and the hours in which it was first."""
    figures = "" if math.isnan(cause.limit) else f" ({plain(round(cause.value))}, limit {plain(round(cause.limit))})"
    hours = f"{plain(round(cause.hours))} h" if cause.hours >= 1 else "less than an hour"
    return f"{cause.link}, {cause.rule}{figures}, in {hours}"


def verdict_in_words(run: Run, share: str) -> str:
    """The last verdict of the throttler about a share, as the end of a sentence; empty if none is recorded."""
    cause = last_verdict(run, share)
    if cause is None:
        return ""
    if not cause.rule:
        return f", although the throttler of {share} lets it"
    figures = "" if not cause.limit else f", {plain(round(cause.value))} jobs, limit {plain(round(cause.limit))}"
    keys = " or ".join(setting.removeprefix("gdpconfig.") for setting in cause.settings)
    return f": the throttler of {share} says {cause.rule}{figures}" + (f" ({keys})" if keys else "")


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
    return value


def value_in_force(run: Run, setting: str) -> Any:
    """As `setting_in_force`; of a key of gdpconfig that is not set, the value of its family or its default."""
    value, entry = setting_in_force(run, setting), entry_of(setting)
    if value is not None or entry is None:
        return value
    family = setting_in_force(run, f"gdpconfig.{entry.prefix}") if entry.is_family else None
    return entry.default if family is None else family


def values_to_try(run: Run, setting: str, cause: Cause) -> tuple[str, ...]:
    """Values of a setting for a sweep, the one in force first; none where no number follows from the run.

    A limit moves until what was compared with it passes, and once more as far; one that a lower value eases ends at 0.
    """
    value, entry = value_in_force(run, setting), entry_of(setting)
    if isinstance(value, bool):
        return (str(value).lower(), str(not value).lower())
    if isinstance(value, int | float) and value > 0:
        compared = cause.value / cause.limit if cause.limit > 0 else TENFOLD if cause.limit == 0 else TWICE
        step = max(TWICE, compared)
        steps = (1, step, TWICE * step) if entry is None or entry.eased_by != LOWER else (1, 1 / TWICE, 0)
        return tuple(f"{math.ceil(value * each) if isinstance(value, int) else float(f'{value * each:.3g}'):g}"
                     for each in steps)
    if value is None and entry is not None and entry.eased_by != LOWER and cause.value > 0:
        return tuple(str(math.ceil(cause.value * factor)) for factor in (TWICE, TWICE ** 2))
    return ()


def relaxed(run: Run, cause: Cause) -> dict[str, Any]:
    """Values of the first settings of a cause that let more work pass, by dotted name; empty if none follow.

    A key of gdpconfig moves as far as a sweep does, an attribute of a queue goes back to its default at all queues that
    the cause names, a star standing for all; storages are empty, other numbers grow more.
    """
    changes: dict[str, Any]
    for setting in cause.settings:
        names = _places(run, setting, cause.settings)
        if setting.startswith("grid.queues."):
            changes = {name: None for name in names if setting_in_force(run, name) not in (None, default_of(name))}
        elif setting.endswith(".latency"):
            changes = {setting: 0}
        elif setting.startswith("grid.storages."):
            changes = {name: setting_in_force(run, name.removesuffix("free") + "total") for name in names}
        elif setting.startswith("grid.sites."):
            changes = dict.fromkeys(names, True)
        else:
            tried = {name: values_to_try(run, name, cause) for name in names}
            found = {name: json.loads(values[-1]) for name, values in tried.items() if values}
            grown = 1 if setting.startswith("gdpconfig.") else GROWN
            changes = {name: each if isinstance(each, bool) else grown * each for name, each in found.items()}
        if changes:
            return changes
    return {}


def _places(run: Run, setting: str, settings: tuple[str, ...]) -> list[str]:
    """Names of the settings that are the same attribute at other places: all for a star, else those of the cause."""
    kind, _, end = setting.partition("*") if "*" in setting else ("", "", "")
    if kind.startswith("grid."):
        return [f"{kind}{name}{end}" for name in run.manifest["scenario"]["grid"][kind.split(".")[1]]]
    attribute = setting.split(".")[3:]
    return [other for other in settings if attribute and other.split(".")[3:] == attribute] or [setting]


def sweep_of(run: Run, cause: Cause, share: str) -> str:
    """A command that shows what a change of the first setting of a cause brings the share; empty if there is none."""
    for setting in cause.settings:
        if values := values_to_try(run, setting, cause):
            figure, vary = f"shares.{share}.delivered", f"{setting}={','.join(values)}"
            return (f"simgrid-broker sweep {run.manifest['scenario']['name']}.yaml --vary {_quoted(vary)} "
                    f"--figure {_quoted(figure)}")
    return ""


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
    return f"'{text}'" if set(text) & set(" *()|&<>") else text


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
