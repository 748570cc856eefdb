"""Random commands and failures: whatever happens, every input is accounted for, and limits of attempts hold."""

import re
from collections import Counter

import numpy as np
import pytest
from builders import S, Stage, T, scenario
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simgrid_broker.agents import AGENTS
from simgrid_broker.errors import ScenarioError
from simgrid_broker.fabric.jobs.effects import waiting_retries
from simgrid_broker.ledgers.live_tasks import pieces
from simgrid_broker.names import TASK_ENDS, TaskCommand
from simgrid_broker.units import HOUR

LEFT_OUT = ("sampler", "snapshots")
LIVING = tuple(agent for agent in AGENTS if agent.__name__ not in LEFT_OUT)

END_H, COMMANDS_H = 36, 20
SLOW = dict(copy_archive=1200, job_generator=600, job_generator_lacking=600, statistics=600, setupper=300, adder=300,
            post_processor=300, task_refiner=300, task_commando=300, contents_feeder=1200)
"""Agents wake seldom, so that there is time for many lives."""
WHEN = st.integers(1, 4 * COMMANDS_H).map(lambda quarters: quarters * HOUR / 4)
TASK = st.fixed_dictionaries(dict(
    label=st.sampled_from(["managed", "user"]), n_jobs=st.integers(2, 30), max_attempt=st.integers(1, 7),
    max_failure=st.integers(0, 3), failure_rate=st.sampled_from([0.0, 0.3, 0.6]),
    work_hs06s_per_event=st.sampled_from([1e4, 1e5, 4e5]), name=st.sampled_from(["mine", "plain"]),
    arrival_s=st.just(0.0), input_bytes_per_job=st.sampled_from([0.0, 1e6]), replicas=st.just({0: 1.0}),
    output_bytes_per_job=st.sampled_from([0.0, 1e6]), cut=st.sampled_from([0, 0, 3])))
"""`cut`: files of a job where jobs are cut from files, 0 = each job has one."""
OPTIONS = dict(finish=st.fixed_dictionaries({}, optional=dict(soft=st.booleans())),
               reassign=st.fixed_dictionaries({}, optional=dict(soft=st.booleans(), nucleus=st.sampled_from("AB"),
                                                                queue=st.sampled_from("AB"))),
               incexec=st.fixed_dictionaries({}, optional=dict(jobs=st.integers(1, 5))))


@st.composite
def incidents(draw):
    """A command, a change of priority or share, an outage, or a loss of files."""
    what = draw(st.sampled_from(["task_command"] * 6 + ["task_priority", "task_share", "site_outage", "file_loss",
                                                       "queue_status"]))
    said = dict(at=draw(WHEN), what=what)
    if what.startswith("task"):
        said["task"] = draw(st.sampled_from([1, 1, 2, 2, 3, "mine"]))
    if what == "task_command":
        command = draw(st.sampled_from(TaskCommand.words()))
        return said | dict(command=command) | draw(OPTIONS.get(command, st.just({})))
    others = dict(task_priority=dict(priority=draw(st.integers(0, 2000))), task_share=dict(share="Express"),
                  site_outage=dict(site="B", until=said["at"] + draw(st.sampled_from([600, 20 * HOUR]))),
                  file_loss=dict(site="A", fraction=0.5, until=said["at"] + 10 * HOUR),
                  queue_status=dict(queue="A", status=draw(st.sampled_from(["online", "offline", "brokeroff"]))))
    return said | others[what]


def life(edition, tasks, happens) -> Stage:
    """The small grid after all that, but for commands that are refused; invariants hold every six hours."""
    mine = dict(name="mine", hs06sec_per_event=1, offered_cores=1, useScout=True, lost_input=0.1,
                broken_input=0.1, open_input=dict(at_first=0.3, frozen_after="8h"))
    try:
        plan = scenario({"A": dict(cores=4), "B": dict(cores=4)}, edition=edition, incidents=happens, agents=SLOW,
                        shares=[dict(name="All", value=1), dict(name="Express", value=1)],
                        workload=dict(users=[mine]),
                        links={("A", "B"): dict(bandwidth=1e4), ("B", "A"): dict(bandwidth=1e4)})
        stage = Stage(LIVING, plan, *[{key: value for key, value in task.items() if key != "cut"} for task in tasks])
    except ScenarioError as error:
        refused = {int(re.match(r"incidents\[(\d+)\]", problem.key)[1]) for problem in error.problems}
        return life(edition, tasks, [one for place, one in enumerate(happens) if place not in refused])
    for split, task in zip(stage.arrays.splitting, tasks, strict=True):
        if task["cut"]:
            split["n_files"], split["nfilesperjob"], split["events_per_file"] = task["n_jobs"], task["cut"], 1
            split["file_bytes"], split["output_bytes_per_event"] = task["input_bytes_per_job"], 1e6
    for hour in range(6, END_H + 1, 6):
        stage.run(hour * HOUR)
        stage.check()
    return stage


def account(stage) -> None:
    """Every input is processed once or accounted for, every attempt was the next one, and limits were kept."""
    arrays, ended, live = stage.arrays, stage.ended(), stage.arrays.jobs[stage.live()]
    for row, task in enumerate(arrays.tasks):
        jobs, alive = ended[ended["task"] == row], live[live["task"] == row]
        done = Counter(pieces(jobs[jobs["status"] == S.FINISHED]))
        assert set(done.values()) <= {1} and len(done) == task["n_finished"]
        assert not set(done) & set(pieces(alive))
        new, waiting = task["n_jobs"] - task["next_chunk"], pieces(waiting_retries(arrays, row))
        known = task["n_finished"] + task["n_failed"] + len(pieces(alive)) + len(waiting)
        assert known + new == task["n_jobs"] and not set(waiting) & {*done, *pieces(alive)}
        both = np.concatenate([jobs, alive])
        attempts = {}
        for job in both[np.argsort(both["attempt"], kind="stable")]:
            for piece in pieces([job]):
                attempts.setdefault(piece, []).append(int(job["attempt"]))
        assert sorted(attempts) == list(range(task["next_chunk"]))
        assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in attempts.values())
        assert not len(both) or both["attempt"].max() <= task["max_attempt"]
        if T(task["status"]) in TASK_ENDS:
            assert len(alive) == 0
        if task["status"] == T.DONE:
            assert task["n_finished"] == task["n_jobs"]


@pytest.mark.slow
@settings(max_examples=16, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(["documented", "deployed"]), st.lists(TASK, min_size=3, max_size=3),
       st.lists(incidents(), min_size=2, max_size=12))
def test_random_lives_of_tasks(edition, tasks, happens):
    tasks[2]["parent"] = 1
    account(life(edition, tasks, happens))
