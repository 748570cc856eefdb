"""Checks of datasets and their replicas, and of tape: drives, the data carousel, and streams that ask for staging."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simgrid_broker.errors import nearest
from simgrid_broker.gdpconfig import carousel_config
from simgrid_broker.gdpconfig.carousel_config import RseConfig, TapeConfig, config_from
from simgrid_broker.scenario.gdpconfig import json_as_written
from simgrid_broker.scenario.loading.origins import Finding, Key, Rules
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.work.draws import catalogue


def too_large_replicas(scenario: Scenario) -> Iterator[Finding]:
    """The replicas at a storage are part of what is in use there at the start, if its parts do not exceed it."""
    storages = scenario.grid.storages
    used_by = {replica.storage for dataset in scenario.data.datasets.values() for replica in dataset.replicas}
    if not used_by <= set(storages) or not {one.site for one in storages.values()} <= set(scenario.grid.sites):
        return                                             # another rule says what is missing
    names, shared = list(storages), catalogue(scenario)
    taken: dict[str, float] = {}
    for number, _, storage, part, _, _, virtual in shared.replicas:
        if storage >= 0 and not virtual:
            taken[names[storage]] = taken.get(names[storage], 0.0) + part * float(shared.bytes[number])
    for name, size in taken.items():
        used = storages[name].total - storages[name].free - storages[name].expired
        if size > used * (1 + 1e-9) and used >= 0:
            yield Finding(("grid", "storages", name, "free"), storages[name].free,
                          f"the replicas of `data` at this endpoint have {size:.6g} bytes, but only {used:.6g} are in "
                          "use (total - free - expired)", depends_on=(("data",),))


def container_read_whole(scenario: Scenario) -> Iterator[str]:
    """No draw looks at the popularity of a dataset whose container is only read whole."""
    streams = [stream for stream in scenario.workload.streams if stream.container]
    drawn = {stream.container for stream in streams if not stream.whole_container}
    for stream in streams:
        members = scenario.data.members(stream.container)
        if stream.container not in drawn and any(one.popularity != 1 for one in members):
            yield (f"The popularity of the datasets of {stream.container!r} has no effect: {stream.name!r} reads the "
                   "container whole.")


def lifetime_of_nothing(scenario: Scenario) -> Iterator[str]:
    """A lifetime of output that lies in no storage, or that ends after the run."""
    lifetime = scenario.data.output_lifetime
    if lifetime is not None and not scenario.grid.storages:
        yield "data.output_lifetime has no effect: the grid has no storages."
    elif lifetime is not None and lifetime >= scenario.duration:
        yield (f"data.output_lifetime, {lifetime:.15g} s, is not shorter than the run, {scenario.duration:.15g} s: no "
               "output expires.")


def jobs_of_shared_input(scenario: Scenario) -> Iterator[Finding]:
    """The number of jobs of a task with a shared dataset follows from its files."""
    shared = {stream.name for stream in scenario.workload.campaigns if stream.shares_input}
    for position, incident in enumerate(scenario.incidents):
        if incident.what == "task_arrival" and incident.jobs is not None and incident.campaign in shared:
            yield Finding(("incidents", position, "jobs"), incident.jobs,
                          f"the tasks of {incident.campaign} read a dataset, whose files say how many jobs there are")


DATA_RULES: Rules = (too_large_replicas, jobs_of_shared_input)
DATA_REMARKS = (container_read_whole, lifetime_of_nothing)


CONFIG = "DATA_CAROUSEL_CONFIG"
SECTIONS: Mapping[str, type] = {"source_tapes_config": TapeConfig, "source_rses_config": RseConfig}
LISTS = "excluded_destinations", "early_access_users"
FIELD_TYPES: Mapping[str, tuple[type[Any], str]] = {
    "active": (bool, "true or false"), "max_size": (int, "a whole number of files, at least 0"),
    "max_staging_ratio": (int, "a whole number, at least 0"), "destination_expression": (str, "an RSE expression"),
    "tape": (str, "the name of a physical tape")}


def tape_without_drives(scenario: Scenario) -> Iterator[Finding]:
    """Where staging is asked for, the tape has drives."""
    storages = scenario.grid.storages
    for name, why in (*_asked_by_streams(scenario), *_asked_by_config(scenario)):
        if name in storages and storages[name].drives is None:
            yield Finding(("grid", "storages", name, "drives"), None,
                          f"is missing: {why}, and a tape without drives cannot be read")


def config_of_carousel(scenario: Scenario) -> Iterator[Finding]:
    """DATA_CAROUSEL_CONFIG has PanDA's fields, and its endpoints exist."""
    for key, said in json_as_written(scenario, CONFIG):
        if not isinstance(said, dict):
            yield Finding(key, None, f"expected a mapping with {', '.join((*SECTIONS, *LISTS))}")
            continue
        for name in said:
            if name not in (*SECTIONS, *LISTS):
                yield Finding((*key, name), None, "unknown field", nearest(str(name), (*SECTIONS, *LISTS)))
        for section, kind in SECTIONS.items():
            yield from _entries((*key, section), said.get(section, {}), kind)
        for name in LISTS:
            if not isinstance(said.get(name, []), list):
                yield Finding((*key, name), None, "expected a list of names")
        yield from _names(scenario, key, said)


def _entries(key: Key, said: Any, kind: Any) -> Iterator[Finding]:
    """Fields of the entries of one section."""
    if not isinstance(said, dict):
        yield Finding(key, None, "expected a mapping by name")
        return
    for name, entry in said.items():
        if not isinstance(entry, dict):
            yield Finding((*key, name), None, f"expected a mapping with {', '.join(kind._fields)}")
            continue
        if "tape" in kind._fields and "tape" not in entry:
            yield Finding((*key, name, "tape"), None, "is missing (the name of a physical tape)")
        for field, value in entry.items():
            if wrong := _wrong(field, value, kind._fields):
                yield Finding((*key, name, field), value, *wrong)


def _wrong(field: str, value: Any, fields: Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
    """The fault of a field of an entry, and nearest names; None if it is right."""
    if field not in fields:
        return "unknown field", nearest(str(field), fields)
    kind, expected = FIELD_TYPES[field]
    if not isinstance(value, kind) or (kind is int and (isinstance(value, bool) or value < 0)):
        return f"expected {expected}", ()
    if field == "destination_expression" and (problem := carousel_config.problem(value)):
        return problem, ()
    return None


def _names(scenario: Scenario, key: Key, said: Mapping[str, Any]) -> Iterator[Finding]:
    """Endpoints that the configuration names are there; a tape is one that an endpoint names, or an endpoint."""
    storages = tuple(scenario.grid.storages)
    rses, tapes = (said.get(name, {}) if isinstance(said.get(name, {}), dict) else {} for name in (
        "source_rses_config", "source_tapes_config"))
    named: list[tuple[Key, Any]] = [((*key, "source_rses_config", name), name) for name in rses]
    listed = said.get("excluded_destinations", [])
    named += [((*key, "excluded_destinations", k), name) for k, name in enumerate(listed if isinstance(
        listed, list) else ())]
    for where, name in named:
        if name not in storages:
            yield Finding(where, name, "unknown storage", nearest(str(name), storages))
    known = {entry.get("tape") for entry in rses.values() if isinstance(entry, dict)} | set(storages)
    for name in tapes:
        if name not in known:
            yield Finding((*key, "source_tapes_config", name), name, "expected an endpoint of tape, or the tape of an "
                          "entry of source_rses_config", nearest(str(name), [str(one) for one in known]))


def _sound_configs(scenario: Scenario) -> Iterator[tuple[Key, Any]]:
    """Places and values of the key that can be read."""
    return ((key, said) for key, said in json_as_written(scenario, CONFIG) if isinstance(said, dict) and not any(
        True for section, kind in SECTIONS.items() for _ in _entries(key, said.get(section, {}), kind)))


def _asked_by_config(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Endpoints of tape that are active by the configuration, and why they are asked for."""
    for key, said in _sound_configs(scenario):
        config = config_from(said)
        for name, storage in scenario.grid.storages.items():
            if storage.tape and config.is_active(name):
                yield name, f"{'.'.join(map(str, key))} makes tape {config.tape_of(name)!r} active"


def _asked_by_streams(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Endpoints of tape from which streams with inputPreStaging read, and why they are asked for."""
    streams = _staging_streams(scenario)
    for stream in streams:
        for name in _with_drives(scenario) if _has_own_on_tape(stream) else ():
            yield name, f"tasks of {stream.name!r} have inputPreStaging, and input of their own may lie there"
    tapes = {name for name, storage in scenario.grid.storages.items() if storage.tape}
    for stream in streams:
        read = [one for name, one in scenario.data.datasets.items() if name in (stream.dataset, *stream.datasets) or (
            one.container is not None and one.container == stream.container)]
        held = dict.fromkeys(replica.storage for one in read for replica in one.replicas)
        for name in (name for name in held if name in tapes):
            yield name, f"tasks of {stream.name!r} have inputPreStaging and input there"


def _staging_streams(scenario: Scenario) -> list[Any]:
    """Streams of single tasks with inputPreStaging; users with bags of tasks cannot ask for it."""
    return [stream for stream in scenario.workload.streams
            if getattr(stream, "inputPreStaging", False)]


def _has_own_on_tape(stream: Any) -> bool:
    """True if the tasks of a stream have input of their own that may lie on tape."""
    return stream.replicas.tape > 0 and not stream.shares_input


def _with_drives(scenario: Scenario) -> list[str]:
    """The endpoint of each site from which input of its tasks is staged: the first one with drives."""
    first: dict[str, str] = {}
    for name, storage in scenario.grid.storages.items():
        if storage.drives is not None:
            first.setdefault(storage.site, name)
    return [*first.values()]


def input_of_one_task(scenario: Scenario) -> Iterator[str]:
    """Input of a task alone on tape is staged only where its site has drives."""
    equipped = {scenario.grid.storages[name].site for name in _with_drives(scenario)}
    without = [name for name in scenario.grid.sites if name not in equipped]
    for stream in _staging_streams(scenario) if without else ():
        if _has_own_on_tape(stream):
            others = f" and {len(without) - 1} other sites" if len(without) > 1 else ""
            yield (f"inputPreStaging of {stream.name!r} stages nothing from {without[0]}{others}: input of single "
                   "tasks is staged from endpoints with `drives`, and there are none; only brokers look at what lies "
                   "on tape there.")


def inactive_tapes(scenario: Scenario) -> Iterator[str]:
    """Tapes from which tasks wait for input that nothing stages."""
    active = {name for _, said in _sound_configs(scenario) for config in (config_from(said),)
              for name in scenario.grid.storages if config.is_active(name)}
    for name, why in dict.fromkeys(_asked_by_streams(scenario)):
        if name not in active:
            yield f"Nothing is staged from {name}: {why}, but no {CONFIG} makes it active; they wait in staging."


def fields_without_effect(scenario: Scenario) -> Iterator[str]:
    """Fields of the configuration that PanDA does not read either."""
    for _, said in _sound_configs(scenario):
        entries = [entry for section in SECTIONS for entry in said.get(section, {}).values()]
        if any("max_staging_ratio" in entry for entry in entries):
            yield f"max_staging_ratio in {CONFIG} has no effect: PanDA does not use it."
        if any("max_size" in entry for entry in said.get("source_rses_config", {}).values()):
            yield f"max_size of an endpoint in {CONFIG} has no effect: PanDA uses that of the tape."
        if said.get("early_access_users"):
            yield f"early_access_users in {CONFIG} has no effect: who may use inputPreStaging is not checked."


TAPE_RULES: Rules = (tape_without_drives, config_of_carousel)
TAPE_REMARKS = (input_of_one_task, inactive_tapes, fields_without_effect)
