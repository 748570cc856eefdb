"""Themes: what each line of the table of acts needs in order to act, laid over the core of a random scenario.

Lines of policies, dispatchers, modes, editions, incidents and commands have themes that are derived from what the
program and its packages offer. Agents that act in any scenario need none; the others have one below.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from random import Random
from typing import Any

from fuzzing import core
from fuzzing.acts import EARLY_ENDS, all_acts
from fuzzing.core import GB, HOUR, TB
from fuzzing.values import Values
from simgrid_broker.gdpconfig import REGISTRY
from simgrid_broker.names import EXPRESS_ANALYSIS, USER_ANALYSIS
from simgrid_broker.scenario.work.event_rule import EventRule
from simgrid_broker.schema.grid import OS_ES

Theme = Callable[[dict[str, Any], Values], None]
"""Changes the values of a scenario; may raise LookupError or ValueError where these lack what it needs."""

TAKES = {"aging": 9 * HOUR}
"""Time, s, after which an agent of the examples has acted: tasks age when they have run for six hours."""
MINUTES = 10
"""Wall time of a short job."""
OF_OWN_INPUT = ("input_per_job", "input_per_event", "input", "replicas", "jobs_per_task", "dataset", "container",
                "open_input", "whole_container", "lost_input", "broken_input")
"""Keys of a stream that contradict input from a container."""
OF_EVENTS = (*EventRule.model_fields, "eventService", "nEsConsumers", "maxAttemptEsJob", "nJumboJobs")
"""Keys of a stream that a stream with clones, or with consumers instead of them, begins without."""


def wanted(seed: int) -> list[str]:
    """Lines of the table that the scenario of a seed is made for: three to six, one as likely as the other."""
    random = Random(f"themes of {seed}")
    return random.sample([*themes()], random.randint(3, 6))


def themes() -> dict[str, Theme]:
    """Themes by the line of the table that they let act."""
    derived = {line: partial(KINDS[kind], name) for line in all_acts() for kind, _, name in [line.partition(" ")]
               if kind in KINDS}
    of_dispatch = {line: partial(_dispatch, line.rpartition(" of ")[2]) for line in all_acts()
                   if line.startswith("agent ") and " of " in line}
    own = {line: partial(_own_agent, line.removeprefix("own agent ")) for line in all_acts()
           if line.startswith("own agent ")}
    return derived | of_dispatch | own | {f"agent {name}": theme for name, theme in OF_AGENTS.items()}


def _streams(values: dict[str, Any], *kinds: str) -> list[dict[str, Any]]:
    """Streams of work of some kinds."""
    return [stream for kind in kinds for stream in values["workload"].get(kind, ())]


def _campaign(values: dict[str, Any], at_random: Values) -> dict[str, Any]:
    """One of the campaigns; those that extend nothing have all keys in sight."""
    return at_random.random.choice(_streams(values, "campaigns"))


def _shorten(stream: dict[str, Any], duration: float) -> dict[str, Any]:
    """Let the jobs of a stream take minutes, so that tasks end within the run."""
    cores, events = stream.get("corecount", 8) or 1, stream.get("events_per_job", 1000)
    stream |= dict(hs06sec_per_event=dict(median=60 * MINUTES * cores * 10 / events, sigma=0.3),
                   jobs_per_task=dict(median=5, sigma=0.5), memory_per_core=500)
    if "offered_cores" in stream:
        most = core.MOST_JOBS / 4 * 60 * MINUTES * cores / duration
        stream["offered_cores"] = min(float(stream["offered_cores"]), most)
    return stream


def _queue(values: dict[str, Any], at_random: Values) -> dict[str, Any]:
    """One of the queues that are written."""
    return values["grid"]["queues"][at_random.random.choice(sorted(values["grid"]["queues"]))]


def _policy(line: str, values: dict[str, Any], _at_random: Values) -> None:
    kind, name = line.split()
    values.setdefault("policies", {})[kind] = name


def _dispatch(name: str, values: dict[str, Any], _at_random: Values) -> None:
    values["dispatch"] = name


def _edition(name: str, values: dict[str, Any], _at_random: Values) -> None:
    values["edition"] = name


def _mode(name: str, values: dict[str, Any], at_random: Values) -> None:
    """Half of the queues."""
    queues = values["grid"]["queues"]
    for queue in at_random.random.sample(sorted(queues), (len(queues) + 1) // 2):
        queues[queue]["workflow"] = name


def _own_agent(name: str, values: dict[str, Any], _at_random: Values) -> None:
    """In a run that is long enough for it."""
    values["duration"] = max(values["duration"], TAKES.get(name, 0))
    own = values.setdefault("agents", {}).setdefault("own", [])
    own += [name] * (name not in own)


def _incident(what: str, values: dict[str, Any], at_random: Values) -> None:
    """One of a kind, in the first half of the run, about things that exist."""
    if what == "task_command":
        raise LookupError("each command has a theme")
    said = at_random.incident(what)
    said["at"] = round(said["at"] / 2)
    if "dataset" in said and not at_random.names["dataset"]:
        values["data"] = dict(datasets=core.datasets_of(at_random.random, {
            name: dict(total=one.total, free=one.free) for name, one in at_random.whole.grid.storages.items()}))
        said["dataset"] = at_random.random.choice(sorted(values["data"]["datasets"]))
    if what == "network_capacity":
        for key in ("source", "destination", "backbone"):
            said.pop(key, None)
        said["site"] = at_random.random.choice(at_random.names["site"])
    if what.startswith("task_") and "task" in said:
        said["task"] = _campaign(values, at_random)["name"]
    values.setdefault("incidents", []).append(said)


def _command(word: str, values: dict[str, Any], at_random: Values) -> None:
    """To a stream whose tasks are in the state in which it is carried out, at several moments."""
    stream, duration = _campaign(values, at_random), values["duration"]
    moments = [0.1, 0.3, 0.6]
    if word in ("retry", "incexec"):
        _shorten(stream, duration)
        stream |= dict(failure_rate=0.4, max_attempt=2)
        moments = [0.5, 0.7, 0.9]
    elif word == "avalanche":
        _shorten(stream, duration)
        stream |= dict(useScout=True, jobs_per_task=dict(median=40), backlog_time=duration / 10)
        moments = [0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3]
    incidents = values.setdefault("incidents", [])
    for moment in moments:
        if word == "resume":
            incidents.append(dict(at=moment * duration, what="task_command", task=stream["name"], command="pause"))
        incidents.append(dict(at=(moment + 0.05 * (word == "resume")) * duration, what="task_command",
                              task=stream["name"], command=word))


def _early_ends(key: str, values: dict[str, Any], at_random: Values) -> None:
    """Slots of half of the queues are taken away by a key, of two in three with a notice."""
    random, duration = at_random.random, values["duration"]
    queues = values["grid"]["queues"]
    said: dict[str, Any] = {
        "eviction_rate": dict(eviction_rate=2),
        "eviction_by_hour": dict(eviction_rate=2, eviction_by_hour=[random.choice([0.1, 1, 5]) for _ in range(24)]),
        "slot_life": dict(slot_life=random.choice([600, HOUR]), slot_life_spread=random.choice([0, 1])),
        "window": dict(cores=64, window=dict(begins=duration / 9, lasts=duration / 9, every=duration / 4))}[key]
    for queue in random.sample(sorted(queues), (len(queues) + 1) // 2):
        for other in EARLY_ENDS:
            queues[queue].pop(other, None)
        notice = {"eviction_notice": random.choice([1, 60])} if random.random() < 0.67 else {}
        queues[queue] |= deepcopy(said) | notice


def _events(kind: str, values: dict[str, Any], at_random: Values) -> None:
    """Short jobs of event service of a campaign, with room for their output; clones, or jumbo jobs at a queue, if asked
    for."""
    random, grid = at_random.random, values["grid"]
    stream = _campaign(values, at_random)
    if kind == "clone" or "useJobCloning" in stream:
        for parameter in OF_EVENTS:
            stream.pop(parameter, None)
    stream |= dict(corecount=8, events_per_job=100)                        # unified queues give them no single core
    _shorten(stream, values["duration"]).update(backlog=2, **(
        dict(useJobCloning=random.choice(["runonce", "storeonce"])) if kind == "clone" else
        dict(eventService=True, nEventsPerWorker=random.choice([1, 10]), nEsConsumers=random.choice([1, 2]))))
    for queue in grid["queues"].values():
        queue |= dict(jobseed="all", capability="ucore", maxrss=32000)
    for storage in grid["storages"].values():
        storage |= dict(total=2000 * TB, free=1000 * TB)
    if kind in ("jumbo", "co_jumbo"):
        stream |= dict(nJumboJobs=random.choice([1, 4]), maxJumboPerSite=random.choice([1, 3]),
                       jobs_per_task=dict(median=20, sigma=0))
        queue = _queue(values, at_random)
        queue |= dict(capability="mcore", corecount=16, maxrss=64000, maxtime=2 * HOUR, catchall="useJumboJobs")
        grid["sites"][queue["atlas_site"]]["cores"] = 64
        config = values.setdefault("gdpconfig", {})
        config["JUMBO_MIN_EVENTS_DISABLE"] = random.choice([0, 100, 1000])
        key = random.choice([entry for entry in REGISTRY if entry.component == "JumboWatchDog"])
        config.setdefault(key.key, at_random.value_of(key))
    if kind == "object_store":
        _object_store(stream, values, random)


def _object_store(stream: dict[str, Any], values: dict[str, Any], random: Random) -> None:
    """A store that takes what the events of a stream leave at most queues; one in three has room for ten ranges."""
    grid = values["grid"]
    room = random.choice([10 * GB, 100 * TB, 100 * TB])
    grid["storages"]["STORE"] = dict(site=random.choice(sorted(grid["sites"])), type=OS_ES, total=room, free=room)
    for queue in random.sample(sorted(grid["queues"]), (2 * len(grid["queues"]) + 2) // 3):
        grid["queues"][queue]["objectstores"] = "STORE"
    stream |= dict(output_per_event=GB / 10, notDiscardEvents=random.random() < 0.5, mergeEsOnOS=random.random() < 0.5)


KINDS: dict[str, Callable[..., None]] = {
    "policy": _policy, "dispatch": _dispatch, "edition": _edition, "mode": _mode, "incident": _incident,
    "command": _command, "slots": _early_ends, "events": _events}
"""Themes of all lines of a kind."""


def _merge(values: dict[str, Any], at_random: Values) -> None:
    _shorten(_campaign(values, at_random), values["duration"])["mergeOutput"] = True


def _stage(values: dict[str, Any], at_random: Values) -> None:
    """Datasets on a tape, a nucleus with room for them, and a campaign that reads them."""
    random, grid = at_random.random, values["grid"]
    disks = sorted(name for name, storage in grid["storages"].items() if not storage.get("tape"))
    nuclei = [name for name in disks if grid["sites"][grid["storages"][name]["site"]].get("nucleus")]
    grid["storages"][random.choice(nuclei)] |= dict(total=2000 * TB, free=1000 * TB)
    tape = f"{grid['storages'][random.choice(disks)]['site']}_THEMETAPE"
    grid["storages"][tape] = dict(site=tape.removesuffix("_THEMETAPE"), total=1000 * TB, free=500 * TB, tape=True,
                                  type="DATATAPE", drives=random.randint(1, 3))
    values.setdefault("data", {}).setdefault("datasets", {}).update({f"tape{n}": dict(
        files=20, bytes=2e10, container="tapes", replicas=[dict(storage=tape)]) for n in range(3)})
    stream = _shorten(_campaign(values, at_random), values["duration"])
    for key in OF_OWN_INPUT:
        stream.pop(key, None)
    stream |= dict(container="tapes", inputPreStaging=True)
    config = values.setdefault("gdpconfig", {}).setdefault("DATA_CAROUSEL_CONFIG", {})
    config.setdefault("source_tapes_config", {})[tape] = dict(active=True, max_size=random.choice([10, 50]))


def _slots(values: dict[str, Any], at_random: Values) -> None:
    duration = values["duration"]
    _queue(values, at_random)["slot_requests"] = [
        dict(slots=5, opens=duration / 4, expires=duration / 2), dict(slots=3, opens=duration / 3)]


def _troubles(values: dict[str, Any], at_random: Values) -> None:
    values["grid"].setdefault("links", {})["troubles"] = [dict(
        of=at_random.random.choice(["sites", "links"]), every=2 * HOUR, lasts=HOUR / 2,
        factor=at_random.random.choice([0, 0.2]))]


def _flows(values: dict[str, Any], at_random: Values) -> None:
    disks = {storage["site"] for storage in values["grid"].get("storages", {}).values()
             if not storage.get("tape") and storage.get("type") != "OS_ES"}
    if len(disks) > 1:
        values["grid"].setdefault("fts", {})["flows"] = [dict(
            activity=at_random.random.choice(["data_rebalancing", "staging", "t0_export"]), files_per_day=1000,
            file_size=at_random.random.choice([1e8, 1e10]), files_per_rule=at_random.random.choice([1, 20]))]


def _doors(values: dict[str, Any], at_random: Values) -> None:
    for site in values["grid"]["sites"].values():
        site |= dict(door_in=at_random.random.choice([1e7, 1e9]), door_out=at_random.random.choice([1e7, 1e9]))


def _open_input(values: dict[str, Any], at_random: Values) -> None:
    _campaign(values, at_random)["open_input"] = dict(at_first=0.1, frozen_after=values["duration"] / 3)


def _tests(values: dict[str, Any], at_random: Values) -> None:
    """Tests of queues, at a site where half of them fail."""
    values["workload"]["tests"] = dict(period=1800, failures=1, successes=1)
    values["grid"]["sites"][_queue(values, at_random)["atlas_site"]]["failure_rate"] = 0.5


def _users(values: dict[str, Any], at_random: Values) -> None:
    """Users whose share has one of the names that PanDA knows."""
    share = at_random.random.choice([USER_ANALYSIS, EXPRESS_ANALYSIS])
    values["shares"].append(dict(name=share, value=20))
    stream = core.users_of(at_random.random, "analysers", share, values["duration"])
    values["workload"].setdefault("users", []).append(
        _shorten(stream, values["duration"]) | dict(backlog_time=HOUR))


def _snapshots(values: dict[str, Any], _at_random: Values) -> None:
    values.setdefault("record", {})["snapshots"] = [values["duration"] / 3, values["duration"] / 2]


def _trace(values: dict[str, Any], at_random: Values) -> None:
    values["workload"]["trace"] = {"file": core.TRACE, "as": "tasks",
                                   "share": at_random.random.choice(at_random.names["leaf share"])}


def _late_workers(values: dict[str, Any], _at_random: Values) -> None:
    """Two days and a half at sites whose few cores run the same jobs all the time, while workers of other jobs wait in
    line; the monitor looks so seldom that nearly all its turns are looked at."""
    values["duration"] = 60 * HOUR
    values.setdefault("agents", {})["harvester_monitor"] = 5 * HOUR
    for site in values["grid"]["sites"].values():
        site["cores"] = 8
    for queue in values["grid"]["queues"].values():
        queue |= dict(maxtime=200 * HOUR, workflow="push")
        for key in ("cores", "slot_requests"):
            queue.pop(key, None)
    for stream in _streams(values, "campaigns", "users"):
        cores, events = stream.get("corecount", 8) or 1, stream.get("events_per_job", 1000)
        stream["hs06sec_per_event"] = 100 * HOUR * cores * 10 / events
        if "offered_cores" in stream:
            stream["offered_cores"] = min(float(stream["offered_cores"]), 100 * cores)


def _reload(values: dict[str, Any], at_random: Values) -> None:
    values.setdefault("agents", {})["gdpconfig"] = 600
    _incident("gdpconfig", values, at_random)


OF_AGENTS: dict[str, Theme] = {
    "merger": _merge, "data_carousel": _stage, "harvester_slots": _slots, "network_troubles": _troubles,
    "jobless_transfers": _flows,
    "transfer_optimiser": _doors, "contents_feeder": _open_input, "queue_tests": _tests, "task_evaluator": _users,
    "snapshots": _snapshots, "trace_source": _trace, "event_service": partial(_events, "consumer"),
    "jumbo_jobs": partial(_events, "jumbo"), "slot_windows": partial(_early_ends, "window"),
    "harvester_monitor": _late_workers, "gdpconfig_cache": _reload}
"""Themes of the agents that do not act in any scenario."""
