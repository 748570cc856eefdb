"""A plausible run of an invented grid, written through `RunWriter` without a simulation.

Transition times of jobs are consistent, and series are counted from these jobs, so that tests can recount them.
"""

import numpy as np

from simgrid_broker.luck import normal_quantile, uniforms
from simgrid_broker.names import Cause, JobStatus, TaskStatus
from simgrid_broker.records import RunWriter, new_run_folder, write_manifest
from simgrid_broker.schema import FIXED_WORDS, JOB_TIMES, RECORDED, TASK_TIMES

HOUR, DAY = 3600.0, 86400.0
TREE = ("ATLAS", 100.0, (
    ("Analysis", 20.0, ()), ("Express", 3.0, ()),
    ("Production", 75.0, (
        ("Derivations", 14.8, (("Data Derivations", 7.4, ()), ("MC Derivations", 7.4, ()))),
        ("Event Index", 0.74, ()), ("HLT Reprocessing", 2.2, ()),
        ("MC evgen", 12.6, (("MC16 evgen", 10.1, ()), ("MC Other evgen", 2.5, ()))),
        ("MC root", 4.5, (("MC 16", 3.6, ()), ("MC Other", 0.9, ()))),
        ("MC simul", 26.7, (("MC 16 simul", 21.4, ()), ("MC Other simul", 5.3, ()))),
        ("Overlay", 1.5, ()),
        ("Reprocessing", 7.4, (("Reprocessing default", 5.9, ()), ("Heavy Ion", 1.5, ()))),
        ("Upgrade", 2.2, ()), ("Validation", 2.2, ()),
    )),
    ("Test", 2.0, ()),
))
"""Share tree of July 2018 (EPJ Web of Conferences 214, 03025), per cent of the whole."""
SITES = ("CERN-PROD", "BNL-ATLAS", "FZK-LCG2", "IN2P3-CC", "RAL-LCG2", "TRIUMF-LCG2", "AGLT2", "MWT2", "DESY-HH",
         "INFN-T1", "SIGNET", "TOKYO-LCG2")
SITE_SIZE = np.array([18, 17, 12, 10, 9, 7, 7, 6, 5, 4, 3, 2.0])
RESOURCE_TYPES = ("SCORE", "MCORE", "SCORE_HIMEM", "MCORE_HIMEM")
CORES = np.array([1, 8, 1, 8])
TAGS = ("-lowmemory", "-transferring", "-nopilot", "-diskio", "-cap", "-notransferredinput", "-zeroweight")
CAMPAIGNS = ("MC16a simul", "MC16d reco", "Derivations 2018", "User analysis")
COREPOWER = 10.0


def flat_tree(node=TREE, parent=-1, nodes=None):
    """Names, parents, own values and leaves of the tree, depth-first."""
    nodes = [] if nodes is None else nodes
    here = len(nodes)
    nodes.append((node[0], parent, node[1], not node[2]))
    for child in node[2]:
        flat_tree(child, here, nodes)
    return nodes


def tree_of_manifest():
    """The share tree as the engine puts it into the manifest, leaves normalised to 100."""
    nodes = flat_tree()
    value = np.array([own if leaf else 0.0 for _, _, own, leaf in nodes])
    value *= 100 / value.sum()
    for k in range(len(nodes) - 1, 0, -1):
        value[nodes[k][1]] += value[k]
    return {"names": [n[0] for n in nodes], "parent": [n[1] for n in nodes], "value": value,
            "leaves": [k for k, n in enumerate(nodes) if n[3]]}


LEAVES = tuple(node[0] for node in flat_tree() if node[3])
QUEUES = (*SITES, "CERN-P1_HLT", "BNL_HIMEM")
QUEUE_SITE = np.array([*range(12), 0, 1])
VOCABULARIES = {
    "shares": LEAVES, "sites": SITES, "queues": QUEUES, "resource_types": RESOURCE_TYPES, "tags": TAGS,
    "criteria": TAGS,
    "candidates": (*QUEUES, *SITES), "pseudo_queues": QUEUES, "storages": tuple(f"{site}_DATADISK" for site in SITES),
    "users": tuple(f"user{k:03d}" for k in range(40)), "campaigns": CAMPAIGNS,
    "processing_types": ("simul", "reco", "deriv", "evgen", "panda-client-1.5"), "labels": ("managed", "user"),
    "task_names": tuple(f"task{k:04d}" for k in range(400)), "working_groups": ("AP_MCGN", "AP_SIMU"),
    "transpaths": ("Sim_tf.py",), "architectures": ("",),
    "transhomes": ("",), "container_names": ("",), "ramunits": ("MB", "MBPerCore"), }
VOCABULARIES |= {column.codes: QUEUES for table in RECORDED.values() for column in table.recorded
                 if column.codes and column.codes not in VOCABULARIES and column.codes not in FIXED_WORDS}


def make_jobs(n, duration_s, seed=1, wait_factor=1.0):
    """`n` job rows and their times: most finish, some fail, some are taken back, the late ones are still alive."""
    number = np.arange(n)
    luck = lambda k: uniforms(seed, "work", number, k)  # noqa: E731
    normal = lambda k: normal_quantile(luck(k))  # noqa: E731
    tree = tree_of_manifest()
    target = tree["value"][tree["leaves"]]
    share = np.searchsorted(np.cumsum(target / target.sum()), luck(0)).clip(0, len(LEAVES) - 1)
    created = np.sort(luck(1)) * duration_s
    few = share == LEAVES.index("MC16 evgen")
    share[few & (luck(14) < 0.5)] = LEAVES.index("MC 16 simul")
    few = share == LEAVES.index("MC16 evgen")
    created[few] *= 0.45                                              # this share runs out of work in the afternoon
    kind = np.where(luck(2) < 0.7, 1, 0) + np.where(luck(3) < 0.15, 2, 0)
    kind[share == LEAVES.index("Analysis")] %= 2
    rows, times = RECORDED["jobs"].empty(n), np.full((n, len(JOB_TIMES)), np.nan)
    queue = np.searchsorted(np.cumsum(SITE_SIZE / SITE_SIZE.sum()), luck(4)).clip(0, 11)
    queue[(queue == 0) & (luck(5) < 0.2)] = 12
    input_bytes = 2e9 * np.exp(normal(6))
    missing = np.where(luck(7) < 0.35, input_bytes, 0)
    at = dict.fromkeys(JobStatus, np.nan)
    at[JobStatus.DEFINED] = created
    at[JobStatus.ASSIGNED] = created + 30 + 60 * luck(8)
    at[JobStatus.ACTIVATED] = at[JobStatus.ASSIGNED] + np.where(missing > 0, missing / 2e6, 5)
    rush = 1 + 2.5 * np.exp(-((created / duration_s - 0.6) / 0.12) ** 2)
    wait = wait_factor * rush * 900 * (1 + 0.15 * share) * np.exp(1.1 * normal(9)) * (luck(10) > 0.05)
    at[JobStatus.SENT] = at[JobStatus.ACTIVATED] + wait
    at[JobStatus.STARTING] = at[JobStatus.SENT]
    at[JobStatus.RUNNING] = at[JobStatus.SENT] + 60
    walltime = 1.8 * HOUR * np.exp(0.8 * normal(11))
    at[JobStatus.HOLDING] = at[JobStatus.RUNNING] + walltime
    at[JobStatus.TRANSFERRING] = at[JobStatus.HOLDING] + 60
    at[JobStatus.FINISHED] = at[JobStatus.TRANSFERRING] + 1200 * np.exp(0.5 * normal(12))
    status, cause = _fates(luck(13), at)
    for which in JobStatus:
        times[:, which] = at[which]
    times[times > duration_s] = np.nan                                 # what would come after the end
    alive = np.isnan(times[:, JobStatus.FINISHED:]).all(axis=1)
    last = np.where(np.isnan(times), -1.0, times + np.arange(len(JobStatus)) * 1e-6).argmax(axis=1)
    status = np.where(alive, last, status)
    rows["panda_id"], rows["jeditaskid"], rows["share"], rows["queue"] = number + 1, 1 + number % 400, share, queue
    rows["resource_type"], rows["corecount"], rows["status"] = kind, CORES[kind], status
    rows["cause"] = np.where(alive, Cause.NONE, cause)
    rows["hs06_milli"] = CORES[kind] * COREPOWER * 1000
    rows["input_bytes"], rows["missing_bytes"] = input_bytes, missing
    rows["walltime_s"], rows["attempt"], rows["source_site"] = walltime, 1, -1
    rows["nucleus"], rows["user"], rows["n_input_files"] = QUEUE_SITE[queue], number % 40, 1
    return rows, times


def _fates(dice, at):
    """Final status and cause by dice; times that a failed or closed job never reached are taken away."""
    status = np.full(len(dice), int(JobStatus.FINISHED))
    cause = np.zeros(len(dice), int)
    for low, high, why in ((0, 0.02, Cause.SITE_ERROR), (0.02, 0.045, Cause.PAYLOAD_ERROR),
                           (0.045, 0.055, Cause.MEMORY_EXCEEDED), (0.055, 0.06, Cause.LOST_HEARTBEAT)):
        those = (dice >= low) & (dice < high)
        status[those], cause[those] = JobStatus.FAILED, why
    back = (dice > 0.985) & ~np.isnan(at[JobStatus.ACTIVATED])
    status[back], cause[back] = JobStatus.CLOSED, Cause.FAST_REBROKERAGE
    failed = status == JobStatus.FAILED
    at[JobStatus.FAILED] = np.where(failed, at[JobStatus.HOLDING] + 30, np.nan)
    at[JobStatus.CLOSED] = np.where(back, at[JobStatus.ACTIVATED] + 2 * HOUR, np.nan)
    for never in (JobStatus.TRANSFERRING, JobStatus.FINISHED):
        at[never] = np.where(failed | back, np.nan, at[never])
    for never in (JobStatus.SENT, JobStatus.STARTING, JobStatus.RUNNING, JobStatus.HOLDING):
        at[never] = np.where(back, np.nan, at[never])
    return status, cause


def counted(samples, start, end, key, n_keys, weight=None):
    """How many rows (or how much weight) stand between start and end at each sample by key, (n_samples, n_keys)."""
    total = np.zeros((len(samples) + 1) * n_keys)
    for moment, sign in ((start, 1.0), (np.where(np.isnan(start), np.nan, end), -1.0)):
        there = ~np.isnan(moment)
        spot = np.searchsorted(samples, moment[there]) * n_keys + key[there]
        total += sign * np.bincount(spot, None if weight is None else weight[there], len(total))
    return total.reshape(-1, n_keys).cumsum(axis=0)[:-1]


def spans(times):
    """Start and end of each state that series count, by name of the series' column."""
    t = {status: times[:, status] for status in JobStatus}
    end = np.fmin.reduce([t[JobStatus.FINISHED], t[JobStatus.FAILED], t[JobStatus.CLOSED]])
    begun = np.fmin(t[JobStatus.RUNNING], end)
    left = np.fmin.reduce([t[JobStatus.HOLDING], t[JobStatus.TRANSFERRING], end])
    return {"running": (t[JobStatus.RUNNING], left), "activated": (t[JobStatus.ACTIVATED], begun),
            "assigned": (t[JobStatus.ASSIGNED], np.fmin(t[JobStatus.ACTIVATED], end)),
            "queued": (t[JobStatus.DEFINED], begun), "transferring": (t[JobStatus.TRANSFERRING], end)}


def series_rows(name, samples, key, n_keys, rows, times, columns):
    """Rows of a series, keyed by `key`: the columns counted from the jobs."""
    series = RECORDED[name].empty(len(samples) * n_keys)
    series["time_s"] = np.repeat(samples, n_keys)
    power = {"hs06": rows["hs06_milli"] / 1000, "running_cores": rows["corecount"].astype(float)}
    where = spans(times)
    for column in columns:
        start, end = where["running" if column in power else column]
        series[column] = counted(samples, start, end, key, n_keys, power.get(column)).ravel().round(6)
    return series


def write_series(writer, samples, rows, times, seed):
    """All time series of the run."""
    n_types, n_leaves = len(RESOURCE_TYPES), len(LEAVES)
    counts = ("running", "activated", "assigned", "transferring", "running_cores")
    shares = series_rows("shares", samples, rows["share"].astype(int) * n_types + rows["resource_type"],
                         n_leaves * n_types, rows, times, (*counts, "hs06", "queued"))
    shares["share"] = np.tile(np.repeat(np.arange(n_leaves), n_types), len(samples))
    shares["resource_type"] = np.tile(np.arange(n_types), len(samples) * n_leaves)
    tree = tree_of_manifest()
    total = shares["hs06"].reshape(len(samples), -1).sum(axis=1)
    shares["target_hs06"] = (total[:, None] * np.repeat(tree["value"][tree["leaves"]] / 100, n_types)).ravel()
    writer.write("shares", shares)
    queues = series_rows("queues", samples, rows["queue"].astype(int), len(QUEUES), rows, times, counts)
    queues["queue"] = np.tile(np.arange(len(QUEUES)), len(samples))
    queues["free_cores"] = 100
    writer.write("queues", queues)
    write_traffic(writer, samples, seed)


def filled(name, columns):
    """Rows of a table with the given columns, zero elsewhere."""
    rows = RECORDED[name].empty(len(columns["time_s"]))
    for column, values in columns.items():
        rows[column] = values
    return rows


def write_traffic(writer, samples, seed):
    """Links, storages, refusals and transfers: figures out of the air, smooth enough to look at."""
    pairs = np.array([(a, b) for a in range(12) for b in range(12) if a != b and (a < 3 or b < 3)])
    n = len(samples) * len(pairs)
    use = uniforms(seed, "transfer", np.arange(n)) ** 6
    links = {"time_s": np.repeat(samples, len(pairs)), "source": np.tile(pairs[:, 0], len(samples)),
             "destination": np.tile(pairs[:, 1], len(samples)), "queued_files": (use * 500).astype(int),
             "active_files": (use * 100).astype(int), "bytes": use * 1.25e9 * 600, "files": (use * 300).astype(int),
             "utilisation": use, "bytes_moved": use * 1.3e9 * 600, "active_limit": np.full(n, 60)}
    writer.write("links", filled("links", {name: column[use > 0.05] for name, column in links.items()}))
    grow = np.linspace(0, 1, len(samples))[:, None] * (0.3 + SITE_SIZE / 18)
    size = np.broadcast_to(SITE_SIZE * 1e15, grow.shape)
    free = size * (0.25 - 0.2 * grow.clip(0, 1))
    writer.write("storages", filled("storages", {
        "time_s": np.repeat(samples, 12), "storage": np.tile(np.arange(12), len(samples)),
        "total_bytes": size.ravel(), "free_bytes": free.ravel(), "expired_bytes": (0.1 * size).ravel(),
        "written_bytes": (size * 0.2 * grow).ravel()}))
    number = np.arange(len(samples) * 60)
    luck = lambda k: uniforms(seed, "decision_record", number, k)  # noqa: E731
    kind = (luck(0) > 0.15).astype(int)
    candidate = np.where(kind == 1, (luck(1) ** 2 * len(QUEUES)).astype(int), len(QUEUES) + (luck(1) * 12).astype(int))
    tag = np.where(luck(5) < 0.1, -1, luck(2) ** 2 * len(TAGS)).astype(int)
    count = 1 + (luck(4) ** 4 * 50).astype(int)
    writer.write("refusals", filled("refusals", {
        "time_s": np.repeat(samples, 60), "kind": kind, "candidate": candidate,
        "tag": tag, "criterion": tag, "queue_count": count, "pool_count": count,
        "share": (luck(3) * len(LEAVES)).astype(int), "count": count}))


def write_tasks_and_transfers(writer, rows, duration_s, seed):
    """400 tasks, three in four done, and one transfer for each job that missed input."""
    tasks, times = RECORDED["tasks"].empty(400), np.full((400, len(TASK_TIMES)), np.nan)
    number = np.arange(400)
    tasks["jeditaskid"], tasks["name"], tasks["campaign"] = number + 1, number, number % len(CAMPAIGNS)
    tasks["arrival_s"] = uniforms(seed, "task_arrival", number) * duration_s * 0.9
    times[:, TaskStatus.REGISTERED] = tasks["arrival_s"]
    done = tasks["arrival_s"] + 5 * HOUR * np.exp(0.7 * normal_quantile(uniforms(seed, "task_draw", number)))
    ended = done < duration_s
    final = np.where(number % 17 == 0, TaskStatus.FAILED, np.where(number % 5, TaskStatus.DONE, TaskStatus.FINISHED))
    tasks["status"] = np.where(ended, final, TaskStatus.RUNNING)
    times[number[ended], final[ended]] = done[ended]
    writer.write("tasks", tasks, times)
    moved = rows[rows["missing_bytes"] > 0]
    transfers = RECORDED["transfers"].empty(len(moved))
    transfers["transfer_id"], transfers["bytes"] = np.arange(len(moved)) + 1, moved["missing_bytes"]
    transfers["submitted_s"] = np.linspace(0, duration_s * 0.95, len(moved))
    transfers["started_s"] = transfers["submitted_s"] + 120
    transfers["ended_s"] = transfers["started_s"] + moved["missing_bytes"] / 2e6
    transfers["n_files"], transfers["destination"] = 1, QUEUE_SITE[moved["queue"]]
    writer.write("transfers", transfers)


def manifest(duration_s, seed, status="complete", **more):
    """A manifest as the engine writes it, as far as figures need it."""
    grid = {"sites": {site: {"cores": int(size) * 130, "door_in": 12.5e9, "door_out": 12.5e9}
                      for site, size in zip(SITES, SITE_SIZE, strict=True)},
            "queues": {queue: {"atlas_site": SITES[k], "cores": None}
                       for queue, k in zip(QUEUES, QUEUE_SITE, strict=True)}}
    incidents = [{"at": 0.5 * duration_s, "until": 0.6 * duration_s, "what": "site_outage", "site": "FZK-LCG2"}]
    return {"status": status, "edition": "documented", "seed": seed, "duration_s": duration_s,
            "simulated_s": 0.0 if status == "running" else duration_s, "warm_up_s": min(4 * HOUR, duration_s / 6),
            "scenario": {"name": "fake day", "description": "A made-up day of twelve sites.", "seed": seed,
                         "grid": grid, "incidents": incidents, "record": {"jobs": 1.0}},
            "share_tree": tree_of_manifest(), "vocabularies": VOCABULARIES,
            "counters": {"jobs_ended": 16_720, "n_processed": 123_456, "total_cores": 13_000},
            "timings": {"built_s": 0.5, "ran_s": 1.5}, "versions": {"simgrid_broker": "0.1.0", "python": "3.11"},
            "gdpconfig": {"jobbroker.NQUEUED_SAT_CAP": {"value": 300, "origin": "scenario"}}} | more


def write_fake_run(root, n_jobs=20_000, duration_s=DAY, seed=1, wait_factor=1.0, close=True, batch_rows=100_000,
                   sample_s=600.0, status="complete", **more):
    """Write one run below `root` and return its folder; `close=False` leaves it as a killed run would."""
    folder = new_run_folder(root, "fake day", seed)
    write_manifest(folder, manifest(duration_s, seed, "running", **more))
    writer = RunWriter(folder, VOCABULARIES, batch_rows)
    rows, times = make_jobs(n_jobs, duration_s, seed, wait_factor)
    for first in range(0, n_jobs, 5000):
        writer.write("jobs", rows[first:first + 5000], times[first:first + 5000])
    write_tasks_and_transfers(writer, rows, duration_s, seed)
    write_series(writer, np.arange(0, duration_s + 1, sample_s), rows, times, seed)
    writer.wait()
    if close:
        writer.close()
        write_manifest(folder, manifest(duration_s, seed, status, **more))
    return folder
