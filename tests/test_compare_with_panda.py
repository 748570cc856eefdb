"""The script that answers cases of PanDA's production code, on cases written here and on recorded ones."""

import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "compare_with_panda.py"
DATA = ROOT.parent / "shared" / "data"
RECORDED = DATA / "panda_decisions"
CRIC = DATA / "panda_decisions_cric"
RELEASE_1_0_4 = CRIC / "release_1.0.4"
EVERY = {"task_broker_prod": 20, "job_broker_prod": 30, "job_broker_anal": 40}
"""Of how many recorded cases of a kind one is asked, if not of 10."""
MISSES_OF_BROKERS = {"cric/job_broker_prod": 1, "cric/1.0.4/job_broker_prod": 1, "cric/1.0.4/job_broker_anal": 2}
"""Recorded cases that the brokers miss, by row of the fidelity page, which says why."""
SHARES = [dict(name="Prod", value=80, parent=None), dict(name="Simul", value=3, parent="Prod"),
          dict(name="Evgen", value=1, parent="Prod"), dict(name="Test", value=20, parent=None)]


@pytest.fixture
def script(monkeypatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    spec = importlib.util.spec_from_file_location("compare_with_panda", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_order_of_shares(script):
    used = [["Simul", "executing", 600.0], ["Evgen", "executing", 150.0], ["Simul", "queued", 9e9],
            ["Test", "executing", 250.0], ["Gone", "executing", None]]
    answer, = script.answers("share_order", [dict(id="a", shares=SHARES, hs_distribution=used)])
    assert answer == dict(id="a", limits=[], order=["Evgen", "Simul", "Test"],
                          dispatch_rank=dict(Evgen=0, Simul=1, Test=0),
                          normalised=dict(Evgen=20.0, Simul=60.0, Test=20.0))


def throttled(script, running=10, queued=2001, waiting=100, **changed):
    """Answer to a work queue with many queued jobs, of which tasks of low priority wait."""
    case = dict(id="t", share="Express", gs_throttled=True, resource_type="SCORE", prod_source_label="managed",
                stats=dict(running=dict(SCORE=running), activated=dict(SCORE=queued, MCORE=3)), standby_static={},
                standby_dynamic={}, highest_prio_job=dict(highestPrio=500, nNotRun=10), highest_prio_waiting=waiting,
                total_walltime=None, gdpconfig={})
    answer, = script.answers("throttler", [case | changed])
    return tuple(answer[name] for name in ("throttled", "max_num_jobs", "min_priority", "lack_of_jobs"))


def test_throttler(script):
    assert throttled(script) == (5, 250, None, False)
    assert throttled(script, queued=2000) == (False, 250, None, False)
    assert throttled(script, waiting=501) == (False, 250, 501, False)
    assert throttled(script, waiting=501, prod_source_label="user") == (5, 250, None, False)
    assert throttled(script, waiting=None) == (True, None, None, False)
    assert throttled(script, gs_throttled=False) == (False, None, None, False)
    assert throttled(script, queued=0, gdpconfig={"prod_job_throttler": {"NQUEUELIMIT_Express": 9010}}) == (
        False, 450.5, None, True)
    assert throttled(script, standby_static=dict(SCORE=2001), standby_dynamic=dict(MCORE=1)) == (
        False, 300, None, True)


def test_unified_pilot_streaming(script):
    jobs = [dict(gshare="Simul", resource_type="MCORE", priority=1), dict(gshare="Evgen", resource_type="SCORE",
                                                                          priority=1)]
    case = dict(id="u", queue=dict(name="Q", corecount=8, status="online", harvester="H", params={}),
                worker_stats=dict(H=dict(managed=dict(SCORE=dict(running=3, ready=1), MCORE_HIMEM=dict(submitted=2)))),
                average_memory=dict(running_submitted=None, running=None), activated_jobs=jobs, shares=SHARES,
                hs_distribution=[], gdpconfig={})
    cases = [case, case | dict(id="none", activated_jobs=[]), case | dict(id="other", worker_stats=dict(G={}))]
    assert [answer["new_workers"] for answer in script.answers("ups", cases)] == [
        dict(H=dict(managed=dict(SCORE=0, MCORE=2, MCORE_HIMEM=0))), dict(H=dict(managed=dict(SCORE=1))), {}]


def test_missing_fields_and_null_have_the_defaults_of_panda(script):
    ups = dict(id="u", queue=dict(name="Q", status="online", harvester="H", corecount=None),
               worker_stats=dict(H=dict(managed=dict(SCORE=None))), shares=[dict(name="A", value=1)],
               resource_types=[["MCORE", 2, None, None, 2000]])
    assert script.answers("ups", [ups])[0]["new_workers"] == dict(H=dict(managed=dict(SCORE=1)))
    nulls = dict.fromkeys(("average_memory", "activated_jobs", "hs_distribution", "gdpconfig"))
    limits = dict(uconfig=dict(resource_type_limits=dict(SCORE=None)))
    assert script.answers("ups", [ups, ups | nulls | dict(queue=ups["queue"] | limits)]) == [
        script.answers("ups", [ups])[0]] * 2
    shares = dict(id="s", shares=[dict(name="A", value=1), dict(name="B", value=None, parent="")])
    answer, = script.answers("share_order", [shares | dict(hs_distribution=[[None, "executing", 5.0]])])
    assert answer["order"] == ["A", "B"] and answer["normalised"] == dict(A=100.0, B=0.0)
    stats = dict(running=dict(SCORE=10), activated=None)
    assert throttled(script, stats=stats, standby_static=None, standby_dynamic=dict(SCORE=None), gdpconfig=None,
                     highest_prio_job=None) == throttled(script, queued=0)


@pytest.mark.rule("zero_share")
def test_zero_share(script):
    case = dict(id="z", fairsharepolicy="type=evgen:100%,priority>500:0%,type=any:100%", priority=501,
                processingType="simul", workingGroup=None, gshare="validation", ignorePriority=False)
    changes = [{}, dict(processingType="evgen"), dict(priority=500), dict(priority=500, fairsharepolicy=None)]
    assert [answer["zero_share"] for answer in script.answers("zero_share", [case | change for change in changes])] == [
        True, False, False, False]


def test_software_and_hardware(script):
    x86, arm = (dict(cmtconfigs=[f"{arch}-el9-gcc13-opt"], containers=[], cvmfs=["atlas"], tags=[],
                     architectures=[dict(type="cpu", arch=[arch])]) for arch in ("x86_64", "aarch64"))
    wanted = json.dumps(dict(sw_platform="x86_64-el9-gcc13-opt", cpu_specs=[dict(arch="x86_64")],
                             cpu_pref=dict(preferred_architecture_level="x86_64-v3")))
    queues = {name: dict(releases=["AUTO"]) for name in ("X", "ARM", "SILENT")} | {"ANY": dict(releases=["ANY"])}
    case = dict(id="s", queues=queues, software=dict(X=x86, ARM=arm, ANY=x86), gpus={},
                architecture_levels=dict(X={"x86_64-v3": dict(pct_within_queue=40.0)}),
                task=dict(architecture=wanted, transHome="Athena-25.2.7", container_name=None, onlyTagsForFC=False))
    anywhere = case | dict(task=case["task"] | dict(architecture=None))
    wildcard = case | dict(task=case["task"] | dict(architecture="x86_64-el9-gcc13-opt#*"))
    answers = script.answers("software", [case, anywhere, wildcard])
    assert [answer["accepted"] for answer in answers] == [["X"], ["ANY"], ["X"]]
    assert [answer["preference"] for answer in answers] == [dict(X=1.4, ARM=1.0), {}, {}]


def nucleus(name):
    """A queue at a nucleus with a storage of its own."""
    return dict(name=f"{name}_Q", site=name, role="nucleus", type="production", cloud="WORLD", status="online",
                capability="score", corecount=1, maxrss=4000, minrss=0, maxtime=864000, maxwdir=20000, maxinputsize=0,
                corepower=10, catchall="", releases=[], pledgedcpu=0, transferringlimit=0, num_slots=[], params={},
                endpoints=[dict(rse=f"{name}_DISK", scope="default", roles=["read_lan", "write_lan"], default_read="Y",
                                default_write="Y", is_local="Y", order_read=1, order_write=1)])


def space(name, free=300_000):
    """The storage of a nucleus."""
    return dict(name=f"{name}_DISK", type="DATADISK", site=name, is_tape="N", space_total=1_000_000, space_free=free,
                space_expired=0, blacklisted_read="N")


def brokered_task(number, **changed):
    """A task without input for a case of task brokerage."""
    task = dict(jediTaskID=number, gshare="Simul", prodSourceLabel="managed", processingType="simul",
                currentPriority=500, taskPriority=500, coreCount=1, resource_type="SCORE", ramCount=1000,
                ramUnit="MBPerCore", cpuTime=10, cpuTimeUnit="HS06sPerEvent", cpuEfficiency=90, baseWalltime=0,
                nucleus=None, workDiskCount=0, outDiskCount=0, split_rules={})
    chunk = dict(master=dict(name="seq", type="pseudo_input", files=[dict(lfn="1", fsize=0, n_events=10)]),
                 secondaries=[], is_merging=False, use_scout=False, ram_count=0)
    return dict(task=task, chunk=chunk, outputs=[dict(id=1, type="log", storage_token="ATLASDATADISK")], task_rw=900.0,
                params={}, u=0.0) | changed


def test_task_brokerage(script):
    grid = dict(queues=[nucleus("ONE"), nucleus("TWO"), nucleus("FULL")], shares=SHARES, job_stats={}, network={},
                endpoints=[space("ONE"), space("TWO"), space("FULL", 100_000)], gdpconfig={},
                pilots={f"{name}_Q": dict(getJob=1, updateJob=0) for name in ("ONE", "TWO", "FULL")},
                resource_types=[["SCORE", 1, 1, 0, 2000], ["MCORE", 2, None, 0, 2000]])
    case = dict(id="tb", grid=grid, work_queue="Simul", full_rw={}, prio_rw={"500": {"ONE": 0.0, "TWO": 49.0}},
                tasks=[brokered_task(1), brokered_task(2)], rucio={})
    answer, = script.answers("task_broker_prod", [case])
    plain = 300_000 / 1_000_000 * 292
    first, second = answer["results"]
    assert (first["status"], first["nucleus"], first["skipped"]) == ("ASSIGNED", "ONE", {"FULL": "-space"})
    assert first["candidates"] == [dict(nucleus=name, weight=pytest.approx(plain)) for name in ("ONE", "TWO")]
    assert [one["weight"] for one in second["candidates"]] == pytest.approx([plain / 900, plain])
    refused, = script.answers("task_broker_prod", [case | dict(tasks=[brokered_task(
        1, outputs=[dict(id=1, type="log", storage_token="ATLASMCTAPE")])])])
    assert refused["results"][0] | dict(error=None) == dict(jediTaskID=1, status="SKIPPED", error=None, nucleus=None,
                                                            candidates=[], skipped={})


def test_a_storage_mapping_of_a_case(script):
    grid, layout = (importlib.import_module(f"panda_cases.{name}") for name in ("grid", "layout"))
    case = layout.complete(dict(queues=[dict(name="ONE", site="HERE"), dict(name="TWO", site="HERE")],
                                storage_mapping=dict(ONE="THERE", TWO=None, GONE="HERE")), layout.GRID)
    assert grid.storage_mapping(case) == dict(ONE="THERE") and grid.sites(case) == ["HERE", "THERE"]
    assert grid.storage_mapping(case | dict(storage_mapping=None)) is None


def test_what_cannot_be_expressed_is_named(script):
    case = dict(id="t", share="A", gs_throttled=True, resource_type="SCORE", stats={}, highest_prio_waiting=0,
                highest_prio_job=dict(highestPrio=0, nNotRun=0), total_walltime=None, gdpconfig=dict(core=dict(NEW=1)))
    assert script.answers("throttler", [case])[0]["limits"] == ["gdpconfig core.NEW = 1: unknown key"]


LIFE = ("job_splitter", "worker_adjuster", "retry_module", "fast_rebrokerage", "task_end", "task_progress",
        "analysis_classes", "production_boost", "analysis_priorities", "data_carousel", "task_throttling", "timeouts",
        "scouts", "es_job_end", "es_kill", "es_ranges", "jumbo_watchdog", "es_conversion")
"""Kinds of cases with a shape."""
TOP = ("task", "tasks", "jobs", "job", "datasets", "queues", "chunk", "gdpconfig", "rules", "files", "num_workers",
       "mode", "requests", "work_queues", "stats", "processor", "u", "params", "config", "ranges", "steps", "kill",
       "ended", "endpoints", "jobsetID")
"""Fields of cases of all these kinds."""


@pytest.mark.parametrize("kind", LIFE)
def test_cases_of_the_life_without_any_value_are_answered(script, kind):
    cases = [{}, dict.fromkeys(TOP), dict.fromkeys(TOP, "?"), dict.fromkeys(TOP, [None, 5, {}])]
    assert not any("failure" in answer for answer in script.answers(kind, cases))


def test_values_that_cannot_be_used_count_as_null_and_are_named(script):
    task = dict(jediTaskID=7, status="running", splitRules=[], datasets=[dict(datasetID=1, type="input", nFiles="10",
                                                                          nFilesToBeUsed=5, status="ready"), None])
    answer, = script.answers("task_progress", [dict(tasks=[task, 3, task | dict(status="asleep")])])
    assert answer["limits"] == ["tasks[0].splitRules = []", "tasks[0].datasets[0].nFiles = '10'",
                                "tasks[0].datasets[1] = None", "tasks[1] = 3", "tasks[2].status = 'asleep'",
                                "tasks[2].splitRules = []", "tasks[2].datasets[0].nFiles = '10'",
                                "tasks[2].datasets[1] = None"]
    assert {number: one["status"] for number, one in answer["tasks"].items()} == {"7": "prepared"}


def test_jobs_and_ranges_without_an_identifier_are_left_out_and_named(script):
    large = dict(PandaID=2, jobStatus="activated", where="active", currentPriority=2**40, jobsetID=2**70, files=[1, 9])
    case = dict(jobsetID=5, jobs=[dict(jobStatus="running"), large, large | dict(PandaID=None)], kill=dict(PandaID=2),
                files=[dict(fileID=1)], ranges=[dict(fileID=1, status="asleep"), dict(startEvent=4)])
    killed, ended, given = (script.answers(kind, [case | more])[0] for kind, more in (
        ("es_kill", {}), ("es_job_end", dict(ended=dict(PandaID=7))),
        ("es_ranges", dict(steps=[dict(call="get", PandaID=2, nRanges=10**20), dict(PandaID=2)]))))
    named = ["jobs[0] without PandaID", f"jobs[1].jobsetID = {2**70}", f"jobs[2].jobsetID = {2**70}",
             "jobs[2] without PandaID", "ranges[0].status = 'asleep'", "ranges[1] without fileID"]
    assert killed["limits"] == named and killed["accepted"] and killed["jobs"]["2"]["jobStatus"] == "cancelled"
    assert given["limits"] == [*named, f"steps[0].nRanges = {10**20}", "steps[1] without call"]
    assert given["steps"] == [dict(ranges=[])]                                   # of a job that was not dispatched
    assert ended["limits"] == [*named, "ended.PandaID = 7: no such job"] and not ended["propagated"]
    assert [(one["owner"], one["status"]) for one in ended["ranges"]] == [(5, "ready")]


def test_shares_below_themselves_are_refused_and_those_below_no_root_left_out(script):
    ring = [dict(name="A", value=1, parent="B"), dict(name="B", value=1, parent="A")]
    top, below = dict(name="C", value=1), dict(name="C", value=1, parent="C")
    left_out, refused = script.answers("share_order", [
        dict(shares=[top, *ring], hs_distribution=[["C", "executing", "x"]]), dict(shares=[top, below])])
    assert left_out["order"] == ["C"]
    assert refused["status"] == "EXCEPTION" and "shares.C: expected no share below itself" in refused["error"]


def test_a_case_that_fails_leaves_the_others(script, capsys, monkeypatch):
    monkeypatch.setattr(importlib.import_module("panda_cases.throttler"), "answer", lambda case: {"jobs": case["jobs"]})
    bad, good, worse = script.answers("throttler", [dict(id="bad"), dict(id="good", jobs=5), dict(id="worse")])
    assert bad["failure"] == worse["failure"] == "KeyError: 'jobs'" and good["jobs"] == 5
    assert "KeyError" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["share_order", "throttler", "ups", "software", "zero_share", "task_broker_prod",
                                  "job_broker_prod", "job_broker_anal"])
def test_recorded_cases(script, kind, tmp_path):
    score, said = scored(script, kind, tmp_path, RECORDED)
    asked = score["scored"] - score["missing"]
    assert asked > 0 and score["agree"] == asked, said


@pytest.mark.parametrize("kind", ["task_broker_prod", "job_broker_prod", "job_broker_anal"])
def test_recorded_decisions_on_queues_of_a_real_grid(script, kind, tmp_path):
    score, said = scored(script, kind, tmp_path, CRIC)
    asked = score["scored"] - score["missing"]
    assert 0 < asked == score["agree"], said


def test_values_that_a_live_database_holds(script):
    gone = nucleus("ONE") | dict(name="GONE_Q", site="AWAY", role="satellite", status="closed", capability="huge",
                                 maxrss=-1, endpoints=[])
    grid = dict(queues=[nucleus("ONE"), gone], shares=SHARES, network={}, endpoints=[space("ONE")], gdpconfig={},
                job_stats={"ONE_Q": {"Undefined": {"Undefined": dict(running=5)}}, "NOWHERE": {"Simul": {"SCORE": {}}}},
                pilots={"ONE_Q": dict(getJob=1, updateJob=0)}, resource_types=[["SCORE", 1, 1, 0, 2000]])
    task = brokered_task(1)["task"] | dict(nucleus="ONE", coreCount=None, ramUnit=None, processingType=None, diskIO=-1,
                                           ioIntensity=-1, useJumbo="D", split_rules=dict(nJumboJobs=3))
    case = dict(id="live", grid=grid, task=task, chunk=brokered_task(1)["chunk"], rucio=None, live_counter=None)
    found, unknown = script.answers("job_broker_prod", [case, case | dict(task=task | dict(nucleus="LOST"))])
    assert found["status"] == "SUCCEEDED" and [one["queue"] for one in found["candidates"]] == ["ONE_Q"]
    assert found["queues"]["GONE_Q"]["criterion"] == "-status"
    assert (unknown["status"], unknown["error"]) == ("FAILED", "unknown nucleus LOST")


@pytest.mark.parametrize("kind", ["software", "job_broker_prod", "job_broker_anal"])
def test_recorded_cases_of_the_newest_release(script, kind, tmp_path):
    score, said = scored(script, kind, tmp_path, RELEASE_1_0_4, "1.0.4")
    assert score["agree"] == score["scored"] - score["missing"] > 0, said


def scored(script, kind, tmp_path, folder, *release):
    """Score of the answers to some of the recorded cases in a folder, and which of them differ."""
    if not folder.exists():
        pytest.skip("the folder of recorded decisions is absent")
    compare = [sys.executable, RECORDED / "compare.py", kind]
    recorded = importlib.import_module("recorded_answers")
    given = recorded.document(folder / f"{kind}.json.gz")
    cases = recorded.whole_cases(given | dict(cases=given["cases"][::EVERY.get(kind, 10)]))
    (tmp_path / "results.json").write_text(json.dumps(script.answers(kind, cases, *release)))
    said = subprocess.run([*compare, tmp_path / "results.json", "--expected", folder], capture_output=True, text=True)
    return json.loads(said.stdout), said.stderr


@pytest.mark.parametrize(("folder", "kind"), [
    pytest.param("panda_decisions_tasks", "fast_rebrokerage",
                 marks=pytest.mark.rule("Backlog.overshoot", "jobs_to_take_back", "oldest_of_each")),
    pytest.param("panda_decisions_tasks", "timeouts",
                 marks=pytest.mark.rule("rules", "timeouts.limits", "labels_of", "fabric.jobs.timeouts.overdue",
                                        "breaks", "is_only_marked", "watcher_error", "groups_to_rebroker",
                                        "histories")),
    pytest.param("panda_decisions_life", "worker_adjuster", marks=pytest.mark.rule("workers_to_submit")),
    pytest.param("panda_decisions_life", "retry_module", marks=pytest.mark.rule("act", "is_system")),
    pytest.param("panda_decisions_tasks", "data_carousel",
                 marks=pytest.mark.rule("data_carousel.claim", "files_in_staging", "to_stage", "fair_first")),
    pytest.param("panda_decisions_tasks", "analysis_classes",
                 marks=pytest.mark.rule("classes.site_classes", "slots_of_users", "classes.task_classes",
                                        "is_evaluated")),
    pytest.param("panda_decisions_tasks", "analysis_priorities",
                 marks=pytest.mark.rule("over_and_below", "held_by_cap", "released_below_cap", "limits.boosts",
                                        "limits.boosted")),
    pytest.param("panda_decisions_tasks", "production_boost",
                 marks=pytest.mark.rule("watchdogs.actions", "pauses", "nearly_done", "is_watched", "queue_places")),
    pytest.param("panda_decisions_life", "scouts", marks=pytest.mark.rule(
        "verdict", "exhausted", "expected_jobs", "withdraws_split_rules", "measures.measure", "measured_ramcount",
        "measured_cputime", "measured_iointensity", "measured_walltime", "measured_output", "measured_workdisk",
        "measured_diskio", "measured_leak", "measured_ng", "measure_merging", "core_power")),
    pytest.param("panda_decisions_tasks", "task_throttling",
                 marks=pytest.mark.rule("goes_on", "throttle_step", "exceeded", "far_below", "moves_too_much",
                                        "throttled_for_input", "released_for_input", "throttled_for_work",
                                        "released_for_work")),
    pytest.param("panda_decisions_events", "es_job_end",
                 marks=pytest.mark.rule("end_job", "process_ranges", "settle_ranges", "merge_queue",
                                        "single_core_queue", "update_related", "propagate", "note_processing")),
    pytest.param("panda_decisions_events", "es_kill",
                 marks=pytest.mark.rule("kill", "kill_consumers", "close_unused", "update_related", "propagate")),
    pytest.param("panda_decisions_events", "es_ranges",
                 marks=pytest.mark.rule("get_event_ranges", "update_event_range", "processed_events", "table.take")),
    pytest.param("panda_decisions_events", "jumbo_watchdog",
                 marks=pytest.mark.rule("jumbo.watch", "flag_after_kick", "files_to_reset")),
    pytest.param("panda_decisions_events", "es_conversion",
                 marks=pytest.mark.rule("convert", "is_wanted", "event_pool")),
])
def test_recorded_life(script, folder, kind, tmp_path):
    score, differences = scored_by(DATA / folder / "compare.py", script, kind, tmp_path)
    page = importlib.import_module("agreement").on_page()           # where the misses have their causes
    assert score["missing"] == 0 and (score["scored"], score["agree"]) == page[kind], differences


def test_timeouts_of_cases_with_holes(script):
    job = dict(PandaID=1, jobStatus="defined", prodSourceLabel="panda", computingSite="Q", lockedby="jedi",
               transformation="https://x/buildGen", creationTime_ago=241, modificationTime_ago=1, currentPriority=1,
               stateChangeTime_ago=1, relocationFlag=0, processingType="panda-client", jediTaskID=1, jobsetID=1,
               jobDefinitionID=1, workingGroup=None)
    queue = dict(status="online", workflow="push", catchall="", laststart_ago=5)
    case = dict(id="t", gdpconfig={}, queues=dict(Q=queue),
                jobs=[job, job | dict(PandaID=2, transformation="https://x/runGen", creationTime_ago=721)])
    assert {number: after["actions"] for number, after in script.answers("timeouts", [case])[0]["jobs"].items()} == {
        "1": ["kill 2"], "2": ["kill 51"]}
    cases = [case | {name: value} for name in case for value in (None, {}) if name != "id"]
    holed = [(job | {key: None}, {name: job[name] for name in job if name != key}) for key in job]
    cases += [case | dict(jobs=[*jobs, None]) for jobs in holed]
    cases += [case | dict(queues=dict(Q=queue | {name: None})) for name in queue]
    assert not [answer for answer in script.answers("timeouts", cases) if "failure" in answer]


def test_scouts_of_cases_with_holes(script):
    job = dict(PandaID=1, computingSite="Q", modificationhost="h", walltime=7200, cpuConsumptionTime=7000, coreCount=1,
               actualCoreCount=None, maxPSS=1024000, outputFileBytes=2048000, inputFileBytes=1048576, totRBYTES=7200,
               totWBYTES=7200, memory_leak=1.5, memory_leak_x2=2.5, jobMetrics="workDirSize=1048576",
               output_files=[dict(dataset="A", fsize=2048000)])
    file = dict(datasetID=1, PandaID=1, status="finished", type="input", fsize=1048576, nEvents=1000, startEvent=None,
                endEvent=None, attemptNr=1, maxAttempt=3, failedAttempt=0, maxFailure=None)
    dataset = dict(datasetID=1, type="input", masterID=None, nFiles=100, nFilesUsed=1, nFilesFinished=1)
    task = dict(prodSourceLabel="managed", outDiskCount=0, outDiskUnit="kBPerEvent", walltime=0, ramCount=1000,
                ramUnit="MB", baseRamCount=0, workDiskCount=None, cpuEfficiency=100, baseWalltime=0, cpuTime=1,
                cpuTimeUnit="HS06sPerEvent", splitRules=dict(nFilesPerJob=1, tgtMaxOutputForNG=10))
    queues, hosts = dict(Q=dict(pandasite="S", corepower=10)), dict(S=dict(h=[["S", 20]]))
    case = dict(id="s", task=task, taskParams=dict(cpuTime=1), gdpconfig={}, datasets=[dataset], files=[file],
                jobs=[job], queues=queues, cpu_benchmarks=hosts, useExhausted=True)
    answer, = script.answers("scouts", [case])
    assert {name: answer["task"][name] for name in ("cpuTime", "ramCount", "diskIO", "outDiskCount", "workDiskCount",
                                                    "memory_leak_core", "memory_leak_x2", "ioIntensity")} == dict(
        cpuTime=216, ramCount=1100, diskIO=2, outDiskCount=2, workDiskCount=1, memory_leak_core=2, memory_leak_x2=2,
        ioIntensity=1)
    assert answer["splitRules"]["nGBPerJob"] == 8 and answer["scoutSucceeded"] and not answer["exhausted"]
    parts = dict(datasets=[dataset], files=[file], jobs=[job], task=task)
    holed = [case | {part: None} for part in case if part != "id"]
    for name, value in parts.items():
        record = value[0] if isinstance(value, list) else value
        for key in record:
            for other in ({**record, key: None}, {other: record[other] for other in record if other != key}):
                holed.append(case | {name: [other, None] if isinstance(value, list) else other})
    assert not [answer for answer in script.answers("scouts", holed) if "failure" in answer]


def test_the_page_has_every_kind_of_recorded_cases(script):
    agreement = importlib.import_module("agreement")
    page = agreement.on_page()
    assert set(page) == set(agreement.KINDS) and {row.kind for row in agreement.KINDS.values()} == set(script.KINDS)
    assert all(agree >= 0.9 * scored for scored, agree in page.values())
    of_brokers = {row: scored - agree for row, (scored, agree) in page.items() if agreement.KINDS[row].cases}
    assert of_brokers == dict.fromkeys(of_brokers, 0) | MISSES_OF_BROKERS


@pytest.mark.parametrize("kind", ["share_order", "throttler", "ups", "software", "zero_share", "task_broker_prod",
                                  "job_broker_prod", "job_broker_anal"])
def test_cases_with_a_value_that_panda_never_wrote_are_answered(script, kind):
    harsh, recorded = (importlib.import_module(name) for name in ("harsh_cases", "recorded_answers"))
    if not RECORDED.exists():
        pytest.skip("the folder of recorded decisions is absent")
    cases, draw = recorded.whole_cases(recorded.document(RECORDED / f"{kind}.json.gz")), random.Random(5)
    number = 6 if "broker" in kind else 12                            # a whole grid is read for each case of a broker
    asked, changes = zip(*(harsh.changed(draw.choice(cases), draw) for _ in range(number)), strict=True)
    failures = [answer.get("failure") for answer in script.answers(kind, list(asked))]
    assert not any(failures), list(zip(changes, failures, strict=True))


def scored_by(compare, script, kind, tmp_path):
    """Score that a script of comparison gives to the answers to all of its recorded cases, and which of them differ."""
    if not compare.exists():
        pytest.skip("the folder of recorded decisions is absent")
    cases = json.loads(subprocess.check_output([sys.executable, compare, kind, "--dump-inputs"]))
    (tmp_path / "results.json").write_text(json.dumps(script.answers(kind, cases)))
    compared = subprocess.run([sys.executable, compare, kind, tmp_path / "results.json"], capture_output=True,
                              text=True)
    return json.loads(compared.stdout), compared.stderr


def test_as_a_command(tmp_path):
    given, out = tmp_path / "in.json", tmp_path / "out.json"
    given.write_text(json.dumps({"kind": "share_order", "cases": [dict(id="a", shares=SHARES, hs_distribution=[])]}))
    command = [sys.executable, SCRIPT, "share_order", "--cases", given, "--out", out]
    assert subprocess.run(command, cwd=tmp_path).returncode == 0
    assert json.loads(out.read_text())[0]["order"] == ["Simul", "Evgen", "Test"]
