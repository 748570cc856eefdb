"""Plain cases of analysis brokerage: every queue fits and is quiet, but for what a test names."""

from math import inf, nan

import numpy as np
import policy_builders
from policy_builders import cfg, records

from simgrid_broker.names import ReplicaState
from simgrid_broker.policy.brokerage.analysis import users
from simgrid_broker.policy.brokerage.analysis.broker import candidate as seen_of
from simgrid_broker.policy.brokerage.analysis.broker import prepare, run_brokerage, tables_of
from simgrid_broker.policy.brokerage.analysis.decide import begin
from simgrid_broker.policy.brokerage.analysis.editions import ANALYSIS
from simgrid_broker.policy.brokerage.analysis.question import AnalysisCase
from simgrid_broker.views import (
    ANALYSIS_STORE,
    LOAD,
    USER_AT,
    AnalysisView,
    DatasetAt,
    InputAt,
    Owner,
    Quota,
    Source,
    UserView,
)

EDITIONS = ("documented", "deployed")
DISK, TAPE, VP = ReplicaState.COMPLETE_DISK, ReplicaState.COMPLETE_TAPE, ReplicaState.COMPLETE_VP
PART, PART_ON_TAPE = ReplicaState.INCOMPLETE_DISK, ReplicaState.INCOMPLETE_TAPE
TB = 1e12


def task(**fields):
    """A single-core task of user alice without input."""
    return policy_builders.task(**dict(gshare="User Analysis", prodsourcelabel="user", processingtype="panda-client",
                                       currentpriority=1000) | fields)


def queues(n=1, names=None, **said):
    """Online single-core queues for analysis."""
    names = tuple(f"Q{k}" for k in range(n)) if names is None else names
    found = policy_builders.queues(n, **dict(analysis=True, production=False, names=names) | said)
    object.__setattr__(found, "reads_analysis", tuple((k,) for k in range(n)))
    return found


def dataset(states, name="data", n_files=10, gigabytes=0.0, part=1.0, on_tape=False, lan=True, wan=True, **said):
    """An input dataset with replicas of some states at the queues; a single source outside, complete unless said."""
    states = np.array([int(state) for state in states])
    here = (states & int(DISK | VP)) > 0
    source = Source("SOMEWHERE", part, round((1 - part) * 100), lan, wan)
    return DatasetAt(name, states, n_files, np.where(here, n_files, 0), np.where(states & int(TAPE), n_files, 0),
                     np.zeros(len(states)), np.where(here, gigabytes * 2**30, 0.0), (source,), (on_tape,), **said)


def view(n=1, datasets=(), n_jobs=10.0, total_gb=0.0, user=(), **columns):
    """Ten running jobs of the share at each queue, none of the user; storages with space, all of which are open."""
    at = np.zeros(n, USER_AT)
    at["user_queued"] = at["user_running"] = at["users_running"] = nan
    store = np.zeros(n, ANALYSIS_STORE)
    plain = dict(has_output=True, has_input=True, one=True, output=np.arange(n), free_bytes=900 * TB,
                 usable_output=900 * TB, usable_input=900 * TB, read_lan=True, write_lan=True, read_wan=True,
                 write_wan=True)
    for name, value in (plain | columns).items():
        for table in (at, store):
            if name in table.dtype.names:
                table[name] = value
    load = dict(running=10, running_all=10, n_pilot=1) | {name: columns[name] for name in LOAD.names if name in columns}
    return AnalysisView(records(LOAD, n, **load), store, UserView(at, **dict(user)),
                        InputAt(tuple(datasets), total_gb * 2**30), n_jobs)


def owner(**numbers):
    """What a user has at all queues."""
    return dict(owner=Owner(**numbers))


def quota(**said):
    """The global quota of a user."""
    return dict(quota=Quota(message="it is used up", **said))


def decide(task_=None, queues_=None, seen=None, edition="deployed", **config):
    """The verdict, and the name of the rule that refused each candidate, "" = kept."""
    seen = view() if seen is None else seen
    brokerage = ANALYSIS[edition]
    verdict = run_brokerage(brokerage, task_ or task(), queues_ or queues(len(seen.load)), seen,
                            cfg(edition, **config))
    names = [rule.name for rule in brokerage.rules]
    return verdict, ["" if place < 0 else names[place] for place in verdict.refused_by.tolist()]


def why(*asked, **said):
    """The name of the rule that refused each candidate, "" = kept."""
    return decide(*asked, **said)[1]


def case(task_=None, queues_=None, seen=None, edition="deployed", **config):
    """A case as rules about all candidates see it."""
    seen = view() if seen is None else seen
    return AnalysisCase(task_ or task(), queues_ or queues(len(seen.load)), edition, cfg(edition, **config), seen.user)


def candidate(task_=None, queues_=None, seen=None, edition="deployed", k=0, locality=True, **config):
    """The arguments of a rule about one candidate, with its numbers at the end."""
    seen = view() if seen is None else seen
    task_, queues_ = task_ or task(), queues_ or queues(len(seen.load))
    brokerage, values = ANALYSIS[edition], cfg(edition, **config)
    tables = tables_of(brokerage, queues_, seen, prepare(brokerage, task_, queues_, values))
    begin(tables)
    tables.task[0]["with_locality"] = locality
    one, numbers = seen_of(tables, k), tables.numbers[k]
    users.count(*one, numbers)
    return one, numbers


def stops(rule, task_=None, seen=None, edition="deployed", **config):
    """Whether a rule of the gate ends the attempt."""
    seen, values, queues_ = view() if seen is None else seen, cfg(edition, **config), queues()
    tables = tables_of(ANALYSIS[edition], queues_, seen, prepare(ANALYSIS[edition], task_ or task(), queues_, values))
    begin(tables)
    return bool(rule(tables.task[0], tables.owner[0])[0])


def refuses(rule, *asked, **said):
    """Whether a rule about one candidate refuses it, in an edition that has the rule."""
    said.setdefault("edition", rule.rule.editions[0])
    one, numbers = candidate(*asked, **said)
    return bool(rule(*one, numbers)[0] if rule.rule.needs_numbers else rule(*one)[0])


__all__ = ["DISK", "EDITIONS", "PART", "PART_ON_TAPE", "TAPE", "TB", "VP", "candidate", "case", "cfg", "dataset",
           "decide", "inf", "owner", "queues", "quota", "refuses", "stops", "task", "view", "why"]
