"""Settings of a scenario behind a cause, by their dotted names: of rules, of streams of work, and of links."""

from collections.abc import Mapping
from importlib import import_module
from math import isnan, nan
from typing import Any

from simgrid_broker.gdpconfig import LOWER, GdpconfigKey, find
from simgrid_broker.metrics.refusals import rules_of
from simgrid_broker.metrics.window import once_per_run
from simgrid_broker.names import DecisionKind, ThrottledBy
from simgrid_broker.records import Run

GDPCONFIG = "gdpconfig."
"""Beginning of the name of a key of gdpconfig."""
EASED_BY_LOWER = ("latency", "batch_latency", "minrss", "mintime", "job_generator")
"""Attributes of links and queues, and periods of agents, of which a lower value lets more work pass."""
NO_LIMITS = ("atlas_site", "corecount", "num_slots", "pledgedcpu")
"""Attributes of queues that say what there is, and no limit that could be eased."""
OF_JOBS, OF_CORES = (tuple(f"CAP_RUNNING_{owner}_{what}" for owner in ("USER", "GROUP")) for what in ("JOBS", "CORES"))
KEYS_OF_CAPS = {ThrottledBy.RUNNING_JOBS.word: OF_JOBS, ThrottledBy.QUEUED_JOBS.word: OF_JOBS,
                ThrottledBy.RUNNING_CORES.word: OF_CORES, ThrottledBy.QUEUED_CORES.word: OF_CORES,
                ThrottledBy.PRESTAGING.word: ("USER_PRESTAGE_LIMIT",),
                ThrottledBy.TRANSFER.word: ("USER_TRANSFER_LIMIT",)}
"""Keys behind the caps that throttle tasks of users; source: lifecycle reference, 2.10."""
MOST_LINKS = 3
"""Sites whose links a cause names."""


def streams_of(run: Run, share: str) -> tuple[str, ...]:
    """Loads of the streams of a share that say one, the one with most tasks first; of those without any task if the
    share has none."""
    tasks = run.table("tasks", ["share", "name"])
    names = tasks.name[tasks.share.astype(object) == share].astype(object).value_counts().index
    work = run.manifest["scenario"]["workload"]
    known = {stream["name"]: f"workload.{kind}.{stream['name']}.offered_cores" for kind in ("campaigns", "users")
             for stream in work[kind] if stream.get("offered_cores")}
    silent = [] if len(names) else sorted(known.keys() - set(tasks.name.astype(object)))
    return tuple(known[name] for name in (*names, *silent) if name in known)


@once_per_run
def links_of(run: Run) -> tuple[str, ...]:
    """Rates of the links of the sites whose jobs wait longest for input, or that of all links if no site has its own.

    The latency comes first where it is most of the time of transfers.
    """
    links, rows = run.manifest["scenario"]["grid"]["links"], run.table(
        "transfers", ["kind", "destination", "n_jobs", "submitted_s", "started_s", "ended_s"])
    rows = rows[rows.kind.astype(object) == "input"]
    waits = (rows.n_jobs * (rows.ended_s.fillna(run.end_s) - rows.submitted_s)).groupby(
        rows.destination.astype(object)).sum().nlargest(MOST_LINKS)
    if any(links.get(level) for level in ("by_site", "by_tier", "pairs")):
        return tuple(f"grid.links.by_site.{site}.bandwidth" for site in waits.index if site in links["by_site"])
    is_latent = links["default"]["latency"] > (rows.ended_s - rows.started_s).mean() / 2
    return tuple(f"grid.links.default.{name}" for name in (["latency"] if is_latent else []) + ["bandwidth"])


def settings_of(run: Run, label: str, share: str) -> tuple[str, ...]:
    """Settings that the rules of a label read, those that the scenario sets first: keys of gdpconfig, then attributes.
    """
    found: dict[str, tuple[str, ...]] = {"gdpconfig": (), "queue": (), "storage": ()}
    for kind in DecisionKind.words():
        for rule in rules_of(run, kind):
            if rule.label == label:
                found["gdpconfig"] += tuple(f"gdpconfig.{key.replace('<gshare>', share)}" for key in rule.keys)
                found["queue"] += tuple(f"grid.queues.*.{name}" for name in rule.queue)
                found["storage"] += tuple(f"grid.storages.*.{name}" for name in rule.storage)
    every = dict.fromkeys(setting for settings in found.values() for setting in settings)
    return tuple(sorted(every, key=lambda setting: not is_set(run, setting)))


def is_set(run: Run, setting: str) -> bool:
    """True if the scenario sets a key of gdpconfig or its family, or an attribute of a queue to another than its
    default; what has no default is set."""
    where, _, attribute = setting.rpartition("*.")
    if not where:
        key = setting.removeprefix("gdpconfig.")
        return any(f"{key}_".startswith(f"{name.partition('.')[2]}_") and entry["origin"] != "default"
                   for name, entry in run.manifest["gdpconfig"].items())
    field = _field_of_queue(attribute) if where == "grid.queues." else None
    queues = run.manifest["scenario"]["grid"]["queues"].values()
    return where != "grid.queues." or field is not None and any(
        queue.get(attribute) != field.default for queue in queues)


def _field_of_queue(attribute: str) -> Any:
    """The field of an attribute of a queue, None if it has no such; few readers of a run need the noun."""
    return import_module("simgrid_broker.schema.queues").Queue.model_fields.get(attribute)


def options_of(queue: Mapping, *names: str) -> dict[str, float]:
    """Values of options of Harvester, NaN = none, by name, for a queue as the scenario has it."""
    noun = import_module("simgrid_broker.schema.queues").Queue.model_validate(queue)
    option = import_module("simgrid_broker.schema.harvester").option
    return {name: option(noun, name) for name in names}


def entry_of(setting: str) -> GdpconfigKey | None:
    """The row of the key of gdpconfig that a setting is; None for other settings, and families without a member."""
    if not setting.startswith(GDPCONFIG) or "<" in setting:
        return None
    return next((match.entry for match in find(setting.removeprefix(GDPCONFIG))), None)


def of_template(run: Run, setting: str) -> float | None:
    """Value of an option that a queue does not write, from Harvester's template; None for another setting, or without a
    value."""
    where, option_of, name = setting.partition(".params.")
    if not option_of:
        return None
    queue = run.manifest["scenario"]["grid"]["queues"].get(where.removeprefix("grid.queues."))
    found = options_of(queue, name)[name] if queue else nan
    return None if isnan(found) else found


def most_eased(run: Run, setting: str) -> tuple[Any, ...]:
    """The value of a setting of the grid that lets most pass: of a queue its default, of a storage all space free.

    Empty for what has no such value; None is a default, too: no limit.
    """
    kind, _, attribute = setting.removeprefix("grid.").partition(".")
    name, _, attribute = attribute.partition(".")
    field = _field_of_queue(attribute) if setting.startswith("grid.queues.") else None
    if setting.startswith("grid.storages."):
        storages = run.manifest["scenario"]["grid"][kind]
        return (min(each["total"] for each in ([storages[name]] if name != "*" else storages.values())),)
    return () if field is None or field.is_required() else (field.default,)


def is_eased_by_lower(setting: str) -> bool:
    """True if a lower value of a setting lets more work pass."""
    entry = entry_of(setting)
    return entry.eased_by == LOWER if entry else setting.rpartition(".")[2] in EASED_BY_LOWER
