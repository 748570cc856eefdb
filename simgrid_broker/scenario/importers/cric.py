"""CRIC's PandaQueue dump as a grid: sites, PanDA queues, storages, closeness, software and hardware of queues.

Sources: formats reference, sections 0 to 4 and 6; brokerage reference, section 0.2.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from simgrid_broker.names import CLOSENESS_BLOCKED, QueueStatus
from simgrid_broker.scenario.grid.expand_grid import SIGNS
from simgrid_broker.scenario.importers.cric_storages import (
    BANDS,
    CORES_PER_RUNNING_JOB,
    Storages,
    assumed_cores,
    assumed_nuclei,
    read_storages,
)
from simgrid_broker.scenario.importers.files import (
    Fields,
    JsonFile,
    Tally,
    clean,
    number_of,
    read_json,
    refuse,
    well_formed,
)
from simgrid_broker.scenario.loading.validate import is_part
from simgrid_broker.schema.attribute import Column
from simgrid_broker.schema.harvester import FACTORS, WITHOUT_IDLE
from simgrid_broker.schema.part import Part
from simgrid_broker.schema.queues import OURS, Hardware, InstalledRelease, PublishedSoftware, Queue

EVERYWHERE = "ALL"

KINDS = ("cpu", "gpu")


def read_software(path: Path, queues: Iterable[str]) -> tuple[dict[str, dict], dict | None, list[str]]:
    """Software published for each of `queues` and for ALL, as a scenario writes it, and remarks.

    Raises InputFileError for a file that is not a JSON object of objects.
    """
    tally, known = Tally(), set(queues)
    entries = read_json(path).objects("the software of a queue")
    found = {name: software(name, entry, tally) for name, entry in entries.items()
             if name in known or name == EVERYWHERE}
    tally.count_all(f"entries in {path.name} of queues that the grid does not have",
                    (name for name in entries if name not in found))
    everywhere = found.pop(EVERYWHERE, None)
    origin = f"CRIC software {path.name}: {len(entries)} entries, of which {len(found)} are of queues of the grid"
    return found, everywhere, [origin, *tally.remarks()]


def software(name: str, entry: Mapping, tally: Tally) -> dict:
    """One entry as a scenario writes it."""
    found = _fields(name, entry, PublishedSoftware, tally)
    hardware = [_fields(name, each, Hardware, tally) for each in _objects(name, entry, "architectures", tally)]
    found["architectures"] = [each for each in hardware if each.get("type") in KINDS]
    tally.count_all("architectures that are neither cpu nor gpu, left out",
                    [name] * (len(hardware) - len(found["architectures"])))
    found["tags"] = [_fields(name, each, InstalledRelease, tally) for each in _objects(name, entry, "tags", tally)]
    return found


def _objects(name: str, entry: Mapping, key: str, tally: Tally) -> list[dict]:
    value = entry.get(key) or []
    listed = value if isinstance(value, list) else [value]
    found = [each for each in listed if isinstance(each, dict)]
    tally.count_all(f"{key} of queues that are no objects, left out", [name] * (len(listed) - len(found)))
    return found


def _fields(name: str, values: Mapping, model: type[Part], tally: Tally) -> dict:
    """The fields of a model that are text or lists of text; a single text counts as a list of one."""
    tally.count_all("fields of software that nothing here reads, left out",
                    (f"{name}: {clean(key)}" for key in values if key not in model.model_fields))
    found = {}
    for key, field in model.model_fields.items():
        value, kinds = values.get(key), (field.annotation, *get_args(field.annotation))
        if value is None or any(is_part(kind) for kind in kinds):
            continue
        listed = value if isinstance(value, list) else [value]
        texts = [clean(str(each)) for each in listed if isinstance(each, (str, int, float))]
        tally.count_all(f"{key} of software that are not text, left out", [name] * (len(listed) - len(texts)))
        found[key] = texts if any(get_origin(kind) is tuple for kind in kinds) else "".join(texts[:1])
    return found


NOT_A_QUEUE = "ALL"
"""The object that publishes default software tags; source: formats reference, section 0."""

SIMULATED_TYPES = ("unified", "production", "analysis")
"""Types of queues that brokerage sends work to."""

MAXWDIR_MARGIN_MB, MAXWDIR_FALLBACK_MB = 2000, 16336
"""Scratch space of a queue whose `maxwdir` is not a number: `maxinputsize` and the margin, else the fallback."""

OPTIONS = (
    "useJumboJobs", "gpu", "grandly_unified", "nSimEvents", "minEventsForJumbo", "maxDiskPerCore",
    "use_only_local_data", "disableReassign", "jobChunkSize", "bareNucleus", "secondaryNucleus", "allowed_processing",
    "excluded_processing", "allow_no_pilot", "max_io_intensity", "unified_dispatch",
    "resource_type_limits", "ups_core_target", "nQueueLimit", "maxWorkers", "maxNewWorkersPerCycle", "nNewWorkers",
    "maxSubmissionAttempts", *FACTORS, WITHOUT_IDLE,
    "job_minramcount", "job_maxwalltime", "allow_altstageout", "pilot_walltime_grace", "pilot_rss_grace")
"""Beginnings of the options that brokerage, pilot streaming and pilots know; source: formats reference, section 1.4."""

PER_CORE = "per_core_attr"
"""Option of queues with limits per core; source: as above."""


def read_cric(pandaqueues: Path, rses: Path | None = None, closeness: Path | None = None) -> tuple[dict, list[str]]:
    """A grid as a dict of YAML shape, and remarks on what could not be used and what was assumed.

    pandaqueues: CRIC's queues; rses: CRIC's DDM endpoints, or their relations to queues; closeness: CRIC's site matrix.
    All JSON, plain or gzip. Raises InputFileError for a file that is not what it should be.
    """
    tally = Tally()
    dump = read_json(pandaqueues)
    objects = queue_objects(dump, tally)
    queues = {name: queue(fields) for name, fields in objects.items()}
    if not queues:
        refuse(dump.path, None, "", None, "; ".join(("at least one queue to simulate was expected", *tally.remarks())))
    tiers = site_tiers(objects)
    storages = read_storages(objects, tiers, None if rses is None else read_json(rses), tally)
    for name, used in storages.used.items():
        queues[name]["endpoints"] = used
    sites = _sites(objects, queues, tiers, storages, tally)
    links: dict[str, Any] = {"default": {}, "pairs": []}
    if closeness is not None:
        links["closeness"] = closeness_matrix(read_json(closeness), tuple(sites), tally)
    _say_assumptions(tally)
    grid = {"sites": sites, "queues": queues, "storages": storages.described, "links": links}
    cores = sum(site["cores"] for site in sites.values())
    origin = (f"CRIC dump {dump.path.name}: {len(dump.value)} objects give {len(queues)} queues, {len(sites)} sites "
              f"with {cores} cores, {len(storages.described)} storages")
    return grid, [origin, *tally.remarks()]


def cric_grid(pandaqueues: Path, rses: Path | None = None, closeness: Path | None = None, software: Path | None = None,
              auto_as_any: bool = False) -> tuple[dict, list[str]]:
    """As `read_cric`, with the software that CRIC publishes for the queues (`read_software`).

    auto_as_any: queues with releases AUTO that publish no software take tasks whatever release they ask for.
    """
    grid, remarks = read_cric(pandaqueues, rses, closeness)
    if software is not None:
        published, everywhere, more = read_software(software, grid["queues"])
        remarks += more
        for name, entry in published.items():
            grid["queues"][name]["software"] = entry
        grid |= {"software_of_all": everywhere} if everywhere else {}
    if auto_as_any:
        grid["auto_as_any"] = True
        remarks.append("auto_as_any: queues with releases AUTO that publish no software take tasks as with ANY; PanDA "
                       "would compare CRIC's tags")
    return grid, remarks


def queue_objects(dump: JsonFile, tally: Tally) -> dict[str, Fields]:
    """The objects that are queues to be simulated, by `nickname`, the name that PanDA uses."""
    tally.count_all("names that occur twice in the file, of which the last counts", dump.repeated)
    objects: dict[str, Fields] = {}
    for key, values in dump.objects("a PanDA queue").items():
        fields = Fields(clean(key), values, tally)
        name = fields.text("nickname") or fields.text("name") or clean(key).strip()
        reason = "another one has the same nickname" if name in objects else _no_queue(name, fields)
        if reason:
            tally.count(f"objects left out: {reason}", name or repr(key))
        else:
            objects[name] = Fields(name, values, tally)
    return objects


def _no_queue(name: str, fields: Fields) -> str | None:
    if name in ("", NOT_A_QUEUE):
        return "default software tags for all queues" if name else "it has no name"
    if fields.text("state", "ACTIVE").upper() != "ACTIVE":
        return "its state is not ACTIVE"
    if not fields.text("atlas_site"):
        return "it names no atlas_site"
    kind = fields.text("type", "production").lower()
    return None if kind in SIMULATED_TYPES else f"no broker sends work to its type, {kind}"


def queue(fields: Fields) -> dict[str, Any]:
    """One queue as a scenario writes it: every key of the sheet that CRIC publishes and that differs from its default.

    Keys without a reader of their own are read as the sheet types them.
    """
    found = {name: READERS[name](fields) if name in READERS else _plain(fields, name, field)
             for name, field in Queue.model_fields.items() if name not in NOT_IN_CRIC and not _is_ours(field)}
    _remark_on(fields, found)
    return {key: value for key, value in found.items()
            if value or (value is not None and value != Queue.model_fields[key].get_default(call_default_factory=True))}


def _is_ours(field: FieldInfo) -> bool:
    """True if a key is an attribute of the simulator alone."""
    return any(isinstance(mark, Column) and mark.source == OURS for mark in field.metadata)


def _plain(fields: Fields, name: str, field: FieldInfo) -> Any:
    """The value of a key that CRIC holds under the same name; a missing one is 0, false or empty."""
    if field.annotation is bool:
        return fields.flag(name)
    if field.annotation in (int, float):
        least = next(mark.ge for mark in field.metadata if hasattr(mark, "ge"))
        return (fields.whole if field.annotation is int else fields.number)(name, least=least)
    return fields.text(name)


def _type(fields: Fields) -> str:
    """Type of the queue; `grandly_unified` among the options makes it unified."""
    kind = fields.text("type", "production").lower()
    return "unified" if fields.has_option("grandly_unified") else kind


def _per_core_scale(fields: Fields) -> int:
    """Factor of the limits of a slot: the cores if catchall has `per_core_attr`, else 1.

    The same option in `params` does not count: PanDA scales before params are read (formats reference, section 1.4).
    """
    in_catchall = any(item.startswith(PER_CORE) for item in fields.items())
    return max(1, fields.whole("corecount")) if in_catchall else 1


def _maxwdir(fields: Fields) -> float:
    """Scratch space of a slot, MB, with the fallbacks of PanDA's importer (formats reference, section 1.1)."""
    value = fields.raw("maxwdir")
    if value is None or (number_of(value) or -1) >= 0:
        return number_of(value) or 0.0
    fields.remark("whose maxwdir is not a number and was taken from maxinputsize")
    size = fields.raw("maxinputsize")
    if size is None or number_of(size) == 0:
        return 0.0
    found = number_of(size)
    return MAXWDIR_FALLBACK_MB if found is None else max(0.0, found + MAXWDIR_MARGIN_MB)


def _fairsharepolicy(fields: Fields) -> str:
    policy = fields.text("fairsharepolicy")
    if policy and not well_formed(policy):
        fields.remark("with a malformed fairsharepolicy")
    return policy


def _params(fields: Fields) -> dict[str, object]:
    """The options of `params` and `uconfig` that something here or in PanDA's server reads.

    `per_core_attr` is left out, because the limits are already per slot or must not be scaled.
    """
    options = {key: value for key, value in fields.options().items() if not key.startswith(PER_CORE)}
    known = {key: value for key, value in options.items() if key.startswith(OPTIONS)}
    if len(known) < len(options):
        fields.remark("with options of pilots and wrappers in params, left out")
    return known


def _releases(fields: Fields) -> list[str]:
    value = fields.raw("releases")
    names = value if isinstance(value, list) else str(value or "").split("|")
    return [clean(str(name)).strip() for name in names if isinstance(name, (str, int, float)) and str(name).strip()]


READERS: Mapping[str, Callable[[Fields], Any]] = {
    "status": lambda fields: fields.word("status", QueueStatus.words(), "offline"),
    "type": _type,
    "capability": lambda fields: fields.word("capability", ("ucore", "mcore", "score"),
                                             "mcore" if fields.whole("corecount") > 1 else "score"),
    "workflow": lambda fields: fields.text("workflow") or None,
    "resource_type": lambda fields: fields.text("resource_type", "GRID"),
    "corecount": lambda fields: max(1, fields.whole("corecount")),
    "maxrss": lambda fields: fields.number("maxrss") * _per_core_scale(fields),
    "minrss": lambda fields: fields.number("minrss") * _per_core_scale(fields),
    "maxwdir": lambda fields: _maxwdir(fields) * _per_core_scale(fields),
    "fairsharepolicy": _fairsharepolicy,
    "catchall": lambda fields: ",".join(item for item in fields.items() if not item.startswith(PER_CORE)),
    "params": _params,
    "releases": _releases,
    "jobseed": lambda fields: fields.text("jobseed", "std"),
}
"""Keys whose value in CRIC needs more than its type."""

NOT_IN_CRIC = ("num_slots", "slot_requests", "cores", "endpoints", "objectstores", "software", "gpus", "cpu_levels",
               "throttler", "eviction_by_hour", "window")
"""Keys of a queue that a dump of PanDA queues does not hold, besides the attributes that are the simulator's own."""


def _remark_on(fields: Fields, found: Mapping[str, Any]) -> None:
    """Count what the simulation treats in another way than PanDA, or what the queue lacks."""
    in_catchall = any(item.startswith(PER_CORE) for item in fields.items())
    for true, what in (
        (in_catchall, "whose per_core_attr scaled maxrss, minrss and maxwdir to a slot"),
        (not in_catchall and PER_CORE in fields.options(),
         "whose per_core_attr is in params only, where it does not scale the limits"),
        (fields.whole("corecount") == 0, "without corecount, read as 1"),
        (found["corepower"] == 0, "without corepower, read as 10 HS06 by the scenario"),
        (not fields.raw("queues"), "without any computing element, simulated like the others"),
        (not fields.raw("astorages"), "without storages of their own in astorages"),
        (not found["workflow"], "without a workflow, served by pilot streaming"),
        ("AUTO" in found["releases"], "with releases AUTO, whose software tags are not in this file"),
        (found["jobseed"] in ("es", "eshigh", "all"), "for event service, which tasks with nEventsPerWorker have"),
        (found["pledgedcpu"] == -1, "that are opportunistic (pledgedcpu -1)"),
        (found["maxinputsize"] == -1, "that always read directly from the storage (maxinputsize -1)"),
    ):
        if true:
            fields.remark(what)


def site_tiers(objects: Mapping[str, Fields]) -> dict[str, str]:
    """Tier of each distinct `atlas_site` as CRIC spells it (T0, T1, T2D, T2, T3), in the order of the queues.

    Where the queues of a site disagree, the first one counts.
    """
    tiers: dict[str, str] = {}
    for fields in objects.values():
        level, tier = number_of(fields.raw("tier_level")), fields.text("tier").upper()
        if level in (0, 1, 2, 3) and not tier.startswith(f"T{level:.0f}"):
            tier = f"T{level:.0f}"
        if tier[:2] not in BANDS:
            fields.remark("without a tier, read as T2")
            tier = "T2"
        tiers.setdefault(fields.text("atlas_site"), tier)
    return tiers


def _sites(objects: Mapping[str, Fields], queues: Mapping[str, dict], tiers: Mapping[str, str], storages: Storages,
           tally: Tally) -> dict:
    """Sites with the cores that their queues share, and the storage that takes their output."""
    cores = {site: _site_cores(site, objects, queues, tier) for site, tier in tiers.items()}
    sends = {queue["atlas_site"] for queue in queues.values() if queue["type"] != "analysis"}
    able = {site: tier for site, tier in tiers.items() if site in sends and storages.owns_default(site)}
    nuclei = assumed_nuclei(able, cores)
    sites: dict[str, dict] = {}
    for fields in objects.values():
        name = fields.text("atlas_site")
        sites.setdefault(name, {"tier": int(tiers[name][1]), "region": fields.text("cloud").split(",")[0].strip(),
                                "cores": cores[name], "nucleus": name in nuclei})
    for name, site in sites.items():
        if name in storages.default:
            site["storage"] = storages.default[name]
        else:
            tally.count("sites without a storage for output", name)
    tally.say(f"nuclei are assumed, CRIC's queues do not name them: tier 0 and 1 and the larger half of T2D, as far as "
              f"they have a DATADISK of their own and production queues: {len(nuclei)}")
    return sites


def _site_cores(site: str, objects: Mapping[str, Fields], queues: Mapping[str, dict], tier: str) -> int:
    """Cores of a site: the sum over its online queues, or over all its queues if none is online."""
    own = {name: queue for name, queue in queues.items() if queue["atlas_site"] == site}
    working = [name for name, queue in own.items() if queue["status"] == "online"] or list(own)
    largest_slot = max(queue["corecount"] for queue in own.values())
    return max(largest_slot, sum(_queue_cores(name, objects[name], queues[name], tier) for name in working))


def _queue_cores(name: str, fields: Fields, found: Mapping[str, Any], tier: str) -> int:
    """Cores that a queue adds to its site: from CRIC (`ups_core_target`, pledge), else an estimate."""
    target = number_of(fields.options().get("ups_core_target"))
    said = max(target or 0, found.get("pledgedcpu", 0))
    return int(said) if said > 0 else assumed_cores(name, tier)


def closeness_matrix(matrix: JsonFile, sites: tuple[str, ...], tally: Tally) -> dict:
    """Closeness of all pairs of `sites` in the short form of a scenario: sites, and one row of signs for each."""
    if not isinstance(matrix.value, list):
        refuse(matrix.path, 1, "", None, "a list of objects with src, dst and closeness was expected")
    number = {site: k for k, site in enumerate(sites)}
    rows = [["."] * len(sites) for _ in sites]
    for entry in matrix.value:
        source, destination, value = _pair(entry)
        if source is None:
            tally.count("entries of the site matrix without src, dst or closeness", str(entry)[:40])
        elif source not in number or destination not in number:
            tally.count("entries of the site matrix of sites without queues here", f"{source} to {destination}")
        elif value is not None and value - CLOSENESS_BLOCKED in range(len(SIGNS)):
            rows[number[source]][number[destination]] = SIGNS[int(value) - CLOSENESS_BLOCKED]
        else:
            tally.count("entries of the site matrix whose closeness is not -1 to 11",
                        f"{source} to {destination}: {value:g}")
    return {"sites": list(sites), "rows": ["".join(row) for row in rows]}


def _pair(entry: object) -> tuple[str | None, str | None, float | None]:
    if isinstance(entry, dict):
        source, destination, value = entry.get("src"), entry.get("dst"), number_of(entry.get("closeness"))
        if isinstance(source, str) and isinstance(destination, str) and source and destination and value is not None:
            return source, destination, value
    return None, None, None


def _say_assumptions(tally: Tally) -> None:
    tally.say("cores are assumed where CRIC gives neither pledgedcpu nor ups_core_target: quantiles of running jobs "
              f"per queue (19 September 2021) times {CORES_PER_RUNNING_JOB:.2f} cores per job, placed within the band "
              "of the site's tier by a hash of the queue's name; the queues of a site share the cores of the online "
              "ones")
    tally.say("sizes of storages are assumed: quantiles of 84 DATADISK endpoints with 283 PB (September 2021), of "
              "whatever type, placed within the band of the tier by a hash of the name; 10.9 % free and 25 % deletable "
              "everywhere, deletion only when the storage is full")
    tally.say("CRIC gives no capacity or latency of links, memory of batch systems, staging rate or failure rate: the "
              "defaults of the scenario hold")
