"""Plain cases for the tests of policies: everything fits, everything is quiet, but for what a test names."""

from types import SimpleNamespace

import numpy as np

from simgrid_broker.names import QueueStatus
from simgrid_broker.policy.brokerage.production import decide
from simgrid_broker.policy.brokerage.production.broker import question_of
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION
from simgrid_broker.policy.brokerage.production.question import NUMBERS, Candidate, JobCase
from simgrid_broker.policy.rule import Answer
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.views import (
    KEPT,
    LINK,
    LOAD,
    NUCLEUS,
    QUEUE,
    STORE,
    TEXTS,
    Gdpconfig,
    Locality,
    Nuclei,
    Queues,
    QueueSoftware,
    ShareTree,
    Stats,
    Task,
    records,
)

DEFAULT_TEXTS = {"cloud": "", "fairsharepolicy": "", "wnconnectivity": "full", "jobseed": "std"}

TB = 1e12


def cfg(edition="documented", **components):
    """gdpconfig of an edition with defaults; cfg(jobbroker={"KEY": value}) sets keys of a component."""
    given = {f"{component}.{key}": value for component, keys in components.items() for key, value in keys.items()}
    return Gdpconfig(in_force(SimpleNamespace(gdpconfig=given, edition=edition)))


def task(**fields):
    """A task of single-core simulation that fits everywhere."""
    plain = dict(
        jeditaskid=0, share=0, gshare="MC 16", prodsourcelabel="managed", processingtype="simul", workinggroup="",
        currentpriority=100, corecount=1, resource_type=0, ramunit="MBPerCore", baseramcount=0.0,
        cputime=100.0, cpuefficiency=100.0, basewalltime_s=0.0, n_events_per_job=100, n_files_per_job=1,
        input_bytes_per_job=0.0, output_bytes_per_job=0.0, workdisk_bytes=np.nan, n_jobs=100,
        total_input_bytes=0.0)
    return Task(**plain | fields)


def queues(n=1, **said):
    """Online single-core queues without limits, each of one resource type (not unified), with storage of their own."""
    plain = "names", "software", "software_of_all", "version", "reads"
    kept = {name: said.pop(name) for name in plain if name in said}
    texts = {name: said.pop(name, (DEFAULT_TEXTS[name],) * n) for name in TEXTS}
    unified = np.asarray(said.get("resource_type", -1)) >= 0
    columns = dict(
        queue=np.arange(n), site=np.arange(n), resource_type=-1, status=QueueStatus.ONLINE, production=True,
        corecount=1, corepower=10.0, maxrss_mb=np.inf, maxtime_s=np.inf, maxwdir_mb=np.inf, maxdiskio=np.nan,
        max_io_intensity=np.inf, transferringlimit=2000.0, unified=unified, pull_ups=unified,
        slot_corecount=said.get("corecount", 1), storage=said.get("site", np.arange(n)),
        storage_site=said.get("site", np.arange(n))) | said
    names = tuple(f"QUEUE_{k}" for k in range(n))
    return Queues(**dict(names=names, records=records(QUEUE, n, **columns), texts=texts,
                         software=(QueueSoftware(),) * n) | kept)


def stats(n=1, **columns):
    """Queues with ten running jobs and nothing else, at sites with storage and no nucleus near.

    What the nucleus has: `writable` and the other fields of `Stats`; files that wait for it are by default those of all
    links. A queue at the nucleus, or sharing its storage, has its output there unless `at_nucleus` says otherwise.
    """
    of_nucleus = {name: columns.pop(name) for name in Stats._fields[4:] if name in columns}
    load = {name: columns.pop(name) for name in LOAD.names if name in columns}
    link = {name: columns.pop(name) for name in LINK.names if name in columns}
    store = dict(present=True, free_bytes=1000 * TB, usable_bytes=1000 * TB, read_lan=True, write_lan=True,
                 read_wan=True, write_wan=True)
    links = records(LINK, n, **link)
    if "at_nucleus" not in link:
        links["at_nucleus"] = links["in_nucleus"] | links["sharing"]
    waiting = dict(files_to_nucleus=float(links["queued_files"].sum()),
                   express_to_nucleus=float(links["queued_express"].sum()))
    return Stats(0.0, records(LOAD, n, **dict(running=10) | load), records(STORE, n, **store | columns), links,
                 **waiting | of_nucleus)


def locality(total_bytes, total_files, available_bytes, missing_files):
    """Input of a task at the sites of the candidates, all on disk."""
    parts = np.asarray(available_bytes, float) / max(total_bytes, 1e-300)
    files = 1 - np.asarray(missing_files) / max(total_files, 1)
    return Locality(total_bytes, total_files, parts, files, parts, files, parts >= 1, bool((parts >= 1).any()))


def job_case(task_, queues_, edition="documented"):
    """A case of job brokerage as rules about all candidates see it."""
    return JobCase(task_, queues_, edition)


def candidate(task_=None, queues_=None, stats_=None, data=None, config=None, edition="documented", k=0):
    """Candidate k as rules about one candidate see it, with its weight."""
    question = question_of(PRODUCTION[edition], task_ or task(), queues_ or queues(), stats_ or stats(), data,
                      config or cfg())
    return weighed_candidate(question, k, edition)


def weighed_candidate(question, k, edition):
    """The candidate with job numbers and weight, counted outside the compiled loop."""
    tables, row = question
    queue, numbers = tables.queues[k], np.zeros(1, NUMBERS)[0]
    place = queue["queue"]
    seen = Candidate(tables.task[row], queue, tables.load[0, place], tables.link[0, place], tables.store[place],
                     numbers)
    decide.begin(tables, row)
    decide.take_input(tables, row, queue, numbers)
    PRODUCTION[edition].count(*seen)
    numbers["weight"] = np.prod([factor(*seen) for factor in PRODUCTION[edition].candidate_factors])
    return seen


def answer_about_one(rule, task_, edition=None, **columns):
    """Answer of a criterion, of whatever kind, about one queue with these columns: refused, value, limit.

    edition: the first one that has the rule, unless given.
    """
    view = queues(1, **{name: (value,) if isinstance(value, str) else np.array([value])
                        for name, value in columns.items()})
    edition = edition or rule.rule.editions[0]
    if rule.rule.per_candidate:
        answer = rule(*candidate(task_, view, edition=edition))
    else:
        answer = rule(job_case(task_, view, edition))
        answer = answer if isinstance(answer, Answer) else (answer, np.nan, np.nan)
    refused, value, limit = (np.broadcast_to(each, (1,))[0] for each in answer)
    return bool(refused), float(value), float(limit)


def nuclei(n=1, complete_replica=True, can_run=None, **columns):
    """Idle nuclei with 1 PB, half of it free, and all input at hand, on disk, drawn by one number."""
    plain = dict(
        site=np.arange(n), active=True, has_storage=True, read_wan=True, write_wan=True, free_bytes=500 * TB,
        total_bytes=1000 * TB, local_input_bytes=1e18, local_input_files=10**9, draw=np.nan, can_run=True) | columns
    plain = dict(disk_input_bytes=plain["local_input_bytes"],
                 priority_work_hs06s=plain.get("remaining_work_hs06s", 0)) | plain
    return Nuclei(records(NUCLEUS, n, **plain), complete_replica, can_run)


def share_tree(*rows):
    """A tree from (name, parent name or None, weight) in the order of the table, normalised to 100 per level."""
    names = ("root", *(name for name, _, _ in rows))
    parent = np.array([-1, *(0 if above is None else names.index(above) for _, above, _ in rows)])
    weight = np.array([1.0, *(w for _, _, w in rows)])
    value = np.full(len(names), 100.0)
    for node in range(1, len(names)):
        siblings = parent == parent[node]
        value[node] = value[parent[node]] * weight[node] / max(weight[siblings].sum(), 1e-300)
    leaves = np.array([node for node in range(1, len(names)) if node not in parent])
    return ShareTree(names, parent, value, leaves)


def survivors(verdict):
    """Candidates left after each rule, (n_tags,)."""
    refusals = np.bincount(verdict.refused_by[verdict.refused_by != KEPT], minlength=len(verdict.tags))
    return tuple((len(verdict.refused_by) - np.cumsum(refusals)).tolist())
