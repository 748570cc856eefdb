"""The grid of a case as a snapshot: queues, endpoints, shares, statistics, network and gdpconfig, without tasks."""

from panda_cases.shares import nested
from simgrid_broker.scenario.importers.cric import software
from simgrid_broker.scenario.importers.files import Tally
from simgrid_broker.schema.grid import ACTIVITIES
from simgrid_broker.units import GIB, HOUR

NOW = 30 * 24 * HOUR
"""Time of every snapshot, s; a case says only how long ago something was."""
GPU = {"architecture": "microarchitecture", "framework_version": "version"}
"""Keys of a GPU in a case that a scenario calls otherwise."""
NUMBERS = ("corecount", "maxrss", "minrss", "meanrss", "maxtime", "mintime", "maxwdir", "maxinputsize", "corepower",
           "pledgedcpu", "transferringlimit", "maxdiskio")
TEXTS = ("fairsharepolicy", "catchall", "wnconnectivity")
PLAIN = ("cloud", "status", "capability", "workflow", "direct_access_lan", "direct_access_wan", "is_cvmfs",
         "params", "releases")
ROLES = {"read": "read_lan", "write": "write_lan"}
LINK = {"queued_files": "Production Output_queued", "queued_express": "Express_queued", "mbps_hour": "dashb_mbps_1h",
        "mbps_day": "dashb_mbps_1d", "mbps_week": "dashb_mbps_1w"}
BOUNDS = ("mincore", "maxcore", "minrampercore", "maxrampercore")
WORKERS = ("submitted", "running")
STATUSES = ("defined", "waiting", "assigned", "throttled", "activated", "sent", "starting", "running", "holding",
            "merging", "transferring")


def snapshot(case: dict) -> dict:
    """The values of a snapshot without tasks, of the edition of a case."""
    case_grid = case["grid"]
    return dict(
        name="case", time=NOW, edition=case["edition"], strict=False, grid=grid(case_grid),
        shares=[share.model_dump(exclude_defaults=True) for share in nested(case_grid["shares"])],
        resource_types={name: said(dict(zip(BOUNDS, bounds, strict=True)))
                        for name, *bounds in case_grid["resource_types"]},
        gdpconfig={f"{component}.{key}": value for component, keys in case_grid["gdpconfig"].items()
                   for key, value in keys.items()},
        jobs=jobs(case_grid), queues={queue["name"]: numbers(queue, case_grid) for queue in case_grid["queues"]},
        storage_mapping=storage_mapping(case_grid), locked=case_grid["locked_queues"], links=links(case_grid))


def said(values: dict) -> dict:
    """The values that are not null."""
    return {key: value for key, value in values.items() if value is not None}


# ---- what things are -------------------------------------------------------------------------------------------------

def grid(case_grid: dict) -> dict:
    """Sites, queues, storages and closeness."""
    tally = Tally()
    known = {name: software(name, entry, tally) for name, entry in case_grid["software"].items()}
    nuclei = {queue["site"] for queue in case_grid["queues"] if queue.get("role") == "nucleus"}
    found = dict(
        sites={name: dict(nucleus=name in nuclei, cores=0) for name in sites(case_grid)},
        queues={row["name"]: queue(row, case_grid, known.get(row["name"])) for row in case_grid["queues"]},
        storages={row["name"]: storage(row) for row in case_grid["endpoints"]},
        links={"pairs": [dict(source=source, destination=nucleus, closeness=row["AGIS_closeness"])
                         for nucleus, rows in case_grid["network"].items() for source, row in rows.items()
                         if row.get("AGIS_closeness") is not None and source != nucleus]})
    return found | ({"software_of_all": known["ALL"]} if "ALL" in known else {})


def sites(case_grid: dict) -> list[str]:
    """Every site that the grid speaks of, those of queues first."""
    found = [row["site"] for row in (*case_grid["queues"], *case_grid["endpoints"])]
    for nucleus, rows in case_grid["network"].items():
        found += [nucleus, *rows]
    found += [nucleus for row in case_grid["transferring_by_nucleus"].values() for nucleus in row]
    found += (storage_mapping(case_grid) or {}).values()
    return list(dict.fromkeys(found))


def storage_mapping(case_grid: dict) -> dict[str, str] | None:
    """Site of the output of each queue that has one; None = as its endpoints say."""
    mapping, known = case_grid.get("storage_mapping"), {row["name"] for row in case_grid["queues"]}
    return None if mapping is None else {name: site for name, site in mapping.items() if name in known and site}


def queue(row: dict, case_grid: dict, published: dict | None) -> dict:
    """A PanDA queue; what CRIC leaves out is 0 or empty."""
    name = row["name"]
    found = {key: row.get(key) or 0 for key in NUMBERS} | {key: row.get(key) or "" for key in TEXTS}
    found |= said({key: row.get(key) for key in (*PLAIN, "jobseed")})
    endpoints = [endpoint(one) for one in row["endpoints"] if one.get("scope") in ("default", "analysis")]
    found["type"] = row.get("type") or "production"
    return found | dict(atlas_site=row["site"], endpoints=endpoints, software=published, **hardware(name, case_grid))


def hardware(name: str, case: dict) -> dict:
    """Report of the worker nodes of a queue."""
    levels = case["architecture_levels"].get(name, {})
    return dict(cpu_levels={level: part.get("pct_within_queue", 0) / 100 for level, part in levels.items()},
                gpus=[{GPU.get(key, key): value for key, value in gpu.items()} for gpu in case["gpus"].get(name, [])])


def endpoint(row: dict) -> dict:
    """Use of a DDM endpoint by a queue."""
    uses = {use: role in row["roles"] for use, role in ROLES.items()}
    flags = {key: row.get(key) == "Y" for key in ("default_read", "default_write")}
    return dict(storage=row["rse"], scope=row["scope"], order=row.get("order_read") or 0,
                is_local=row.get("is_local") != "N", **uses, **flags)


def storage(row: dict) -> dict:
    """A DDM endpoint; every other status of an activity than OFF and TEST passes."""
    status, space = row["detailed_status"], {key: (row.get(f"space_{key}") or 0) * GIB for key in (
        "total", "free", "expired", "min_free", "unavailable")}
    closed = {activity: status[activity] for activity in ACTIVITIES if status.get(activity) in ("OFF", "TEST")}
    return dict(site=row["site"], type=row.get("type") or "", tape=row.get("is_tape") == "Y", **space,
                blacklisted_read=row.get("blacklisted_read") == "Y",
                **closed)


# ---- what is counted -------------------------------------------------------------------------------------------------

def jobs(case_grid: dict) -> list[dict]:
    """Job numbers; a row without any says that there are statistics."""
    return [dict(queue=queue, share=share, resource_type=kind, **{status: counts[status] for status in STATUSES
                                                                  if counts.get(status)})
            for queue, shares in case_grid["job_stats"].items() for share, kinds in shares.items()
            for kind, counts in kinds.items()]


def numbers(queue: dict, case_grid: dict) -> dict:
    """Numbers of a queue, all shares together."""
    name = queue["name"]
    cores, pilots, workers = (case_grid[key].get(name, {}) for key in ("core_stats", "pilots", "workers"))
    return dict(
        workers={kind: {status: row.get(status, 0) for status in WORKERS} for kind, row in workers.items()},
        pull_ups=name in case_grid["ups_queues"],
        slot_requests=[said(row) for row in queue["num_slots"]], n_pilot=sum(pilots.values()),
        laststart=NOW - (3 * HOUR if name in case_grid["inactive_queues"] else 0),
        cores_running=cores.get("running", 0), cores_starting=cores.get("starting", 0),
        transferring_to=case_grid["transferring_by_nucleus"].get(name, {}),
        diskio=case_grid["disk_io"].get(name, 0))


def links(case_grid: dict) -> list[dict]:
    """Traffic to each nucleus, of every pair that has a record."""
    return [dict(source=source, destination=nucleus, **said({key: row.get(word) for key, word in LINK.items()}))
            for nucleus, rows in case_grid["network"].items() for source, row in rows.items()]
