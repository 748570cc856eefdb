"""A task of a case with its input, as a task of a snapshot."""

import re

from panda_cases.architecture import as_json
from panda_cases.grid import said
from simgrid_broker.units import HOUR

SAME = {"gshare": "gshare", "processingType": "processingtype", "workingGroup": "workinggroup",
        "currentPriority": "priority", "taskPriority": "taskpriority", "coreCount": "corecount", "nucleus": "nucleus",
        "resource_type": "resource_type", "transHome": "transhome", "architecture": "architecture",
        "container_name": "container_name", "ramCount": "ramcount", "ramUnit": "ramunit",
        "baseRamCount": "baseramcount", "mergeRamCount": "mergeramcount", "mergeCoreCount": "mergecorecount",
        "cpuEfficiency": "cpuefficiency", "baseWalltime": "basewalltime", "walltime": "walltime",
        "walltimeUnit": "walltimeunit", "outDiskCount": "outdiskcount", "outDiskUnit": "outdiskunit",
        "diskIO": "diskIO", "ioIntensity": "iointensity", "prodSourceLabel": "prodsourcelabel",
        "userName": "username"}
"""Attributes of a task to the keys of a snapshot that hold the same."""
FLAGS = ("useLocalIO", "mergeOutput", "inputPreStaging", "onlyTagsForFC", "useJobCloning", "taskBrokerOnMaster")
NUMBERS = {"t1Weight": "t1Weight", "maxCoreCount": "maxCoreCount", "nJumboJobs": "nJumboJobs",
           "dynamicNumEvents": "minGranularity", "maxEventsPerJob": "maxEventsPerJob"}
OF_EVENT_SERVICE = {"nEsConsumers": "nEsConsumers", "maxAttemptEsJob": "maxAttemptEsJob"}
"""Split rules that are keys of a task, some only with event service."""
SPLITTING = {"nFilesPerJob": "nFilesPerJob", "nEventsPerJob": "nEventsPerJob", "maxNumFilesPerJob": "nMaxFilesPerJob",
             "nMaxFilesPerJob": "nMaxFilesPerJob", "nFilesPerMergeJob": "nFilesPerMergeJob",
             "nEventsPerMergeJob": "nEventsPerMergeJob", "nMaxFilesPerMergeJob": "nMaxFilesPerMergeJob"}
NULLS = dict(corecount=1, ramunit="MB", processingtype="")
"""Values that PanDA decides with where an attribute is null."""
JUMBO = ("W", "R", "P", "L")
"""Values of useJumbo with which a task makes jumbo jobs: all but those of a task that must not."""
INPUT_LAN = {"1": "use", "2": "only"}
CHAIN = {"1": "only", "2": "require", "3": "capable"}
CONNECTIVITY = {"1": "full", "2": "http"}
STACK = {"4": "IPv4", "6": "IPv6"}
"""Codes of split rules."""
BYTE = 1 / 1024**2
"""MB; PanDA reads an unknown unit so."""
MB_OF = {"kB": 1 / 1024, "MB": 1, "GB": 1024}
REPLICA = dict(files="found", of_files="total", bytes="asize", of_bytes="tsize")
"""Numbers of a replica to Rucio's words."""


def task(case: dict, given: dict, chunk: dict, brokerage: str) -> dict:
    """One task; case: with `rucio` and what is known of the next jobs; given: its attributes."""
    rules = {key: str(value) for key, value in given["split_rules"].items()}
    found = said(NULLS | {key: given.get(name) for name, key in SAME.items() if given.get(name) is not None}) | dict(
        architecture=as_json(given.get("architecture")))
    numbers = NUMBERS | (OF_EVENT_SERVICE if given.get("eventService") else {})
    if given.get("useJumbo", "R") not in JUMBO:
        rules.pop("nJumboJobs", None)
    found |= whole(rules, numbers)
    found |= {rule: rules[rule] != "0" for rule in FLAGS if rule in rules}
    found |= dict(
        brokerage=brokerage, n_jobs=1, allowInputLAN=INPUT_LAN.get(rules.get("allowInputLAN", "")),
        fullChain=CHAIN.get(rules.get("fullChain", "")),
        ipConnectivity=CONNECTIVITY.get(rules.get("ipConnectivity", ""), ""),
        ipStack=STACK.get(rules.get("ipStack", ""), ""), cputime=given.get("cpuTime") or 0,
        cputimeunit=given.get("cpuTimeUnit") or "", eventService=bool(given.get("eventService")),
        site=given["site"].split(",") if given.get("site") else [], workdiskcount=scratch_mb(given),
        frozen_for=(given.get("frozen_hours_ago") or 0) * HOUR,
        splitting=whole(rules, SPLITTING), next_jobs=next_jobs(case, given, chunk),
        datasets=datasets(chunk, case["rucio"]))
    return found


def whole(rules: dict, keys: dict) -> dict:
    """Whole numbers among split rules, by the keys of a task."""
    return {key: int(rules[rule]) for rule, key in keys.items() if re.fullmatch(r"-?\d+", rules.get(rule, ""))}


def scratch_mb(given: dict) -> float | None:
    """Work space, MB; null = not defined."""
    count = given.get("workDiskCount")
    return None if count is None else count * MB_OF.get(given.get("workDiskUnit") or "MB", BYTE)


def next_jobs(case: dict, given: dict, chunk: dict) -> dict:
    """The jobs for which queues are sought."""
    master = chunk["master"]
    found = dict(scout=chunk.get("use_scout"), merging=bool(chunk.get("is_merging")),
                 ramcount=chunk.get("ram_count") or 0, ready_events=case.get("n_ready_events"),
                 resource_types=case["task_resource_types"], jumbo=chunk.get("use_jumbo"))
    if master.get("preassigned_site"):
        created, modified = master.get("created_hours_ago"), master.get("modified_hours_ago")
        changed = modified is not None and created is not None and modified != created
        idle = modified * HOUR if changed else None
        found["premerge"] = said(dict(queue=master["preassigned_site"], input_idle=idle))
    return said(found)


def datasets(chunk: dict, rucio: dict) -> dict:
    """Datasets of the chunk, the primary one first, and those of Rucio that they consist of."""
    found = {}
    for place, one in enumerate([chunk["master"], *chunk["secondaries"]]):
        name = one.get("name") or ""
        found[name] = said(dict(type=one.get("type"), secondary=place > 0, attributes=one.get("attributes"),
                                files={file["lfn"]: of_file(file) for file in one["files"]}))
        found[name] |= of_rucio(rucio.get(name.rstrip("/")))
    known_as = {name.rstrip("/") for name in found}         # names of containers end with a slash in JEDI
    return found | {name: of_rucio(known) | {"constituent": True} for name, known in rucio.items()
                    if name not in known_as}


def of_file(file: dict) -> dict:
    """One file."""
    return said(dict(bytes=file.get("fsize") or 0, events=file.get("n_events"), first_event=file.get("start_event"),
                     last_event=file.get("end_event")))


def of_rucio(known: dict | None) -> dict:
    """Dataset as Rucio describes it; nothing if it does not know it."""
    if known is None:
        return {}
    replicas = {name: said({key: row.get(word) for key, word in REPLICA.items()})
                for name, row in known["replicas"].items()}
    return said(dict(n_files=known.get("n_files"), bytes=known.get("size"), replicas=replicas,
                     file_replicas=known["file_replicas"], virtual=known["vp_rses"],
                     distributed=bool(known.get("distributed")), has_rules=known.get("rules") != [],
                     constituents=known["constituents"]))


