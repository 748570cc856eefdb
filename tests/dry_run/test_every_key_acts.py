"""Every key of a snapshot changes an answer somewhere, or is remarked where it does not; a picture for each."""

from pathlib import Path

import pytest
from test_keys_of_analysis import PICTURES

from simgrid_broker.advice import remarks
from simgrid_broker.cli.scenario_keys import snapshot_parts
from simgrid_broker.dry_run import broker
from simgrid_broker.scenario import load_snapshot
from simgrid_broker.scenario.checks.snapshot import LARGER_JOBS, OF_ENDS, unread_keys
from simgrid_broker.scenario.snapshot import COUNTED_STATUSES, NOT_COUNTED
from simgrid_broker.schema.part import fields_by_key

EXAMPLE = Path(__file__).parents[2] / "scenarios" / "snapshot.yaml"
WHICH_NUCLEUS, WHICH_QUEUES = 101, 102
"""Tasks of the example."""
T = "tasks.102."
"""The task that is asked about queues."""
FILES = {"f0": {"bytes": "10 GB", "events": 1000}, "f1": {"bytes": "10 GB", "events": 1000}}
DATASETS = {
    "main": {"n_files": 2, "bytes": "20 GB", "files": FILES, "replicas": {
        "WEST_DATADISK": {"files": 2}, "NORTH_DATADISK": {"files": 1}}},
    "beside": {"secondary": True, "n_files": 2, "bytes": "6 GB", "files": {"g0": {"bytes": "12 GB"},
                                                                           "g1": {"bytes": "12 GB"}},
               "replicas": {"WEST_DATADISK": {"files": 2}}}}
DATA = "datasets.main."


def with_files(task, **more):
    """The example with the input of a task file by file, which moves much unless `more` of the task says otherwise."""
    return {f"tasks.{task}.input": {}, f"tasks.{task}.datasets": DATASETS, f"tasks.{task}.iointensity": 500} | {
        f"tasks.{task}.{key}": value for key, value in more.items()}


def with_secondary(**more):
    """The example whose task that is asked about queues reads a secondary dataset with other values."""
    return READING | of_task(secondaries=[SECONDARY | more])


def of_task(**more):
    """The example with other values of the task that is asked about queues."""
    return {f"{T}{key}": value for key, value in more.items()}


FILE_BY_FILE, OF_NUCLEI = with_files(102), with_files(101)
MERGED_FILES = with_files(102, next_jobs={"merging": True})
MERGING = of_task(next_jobs={"merging": True})
EVENTS = of_task(eventService=True, cputime=1_000_000)
JUMBO_AT_WEST = {"grid.queues.WEST.catchall": "useJumboJobs,minEventsForJumbo=10"}
SHARES = {"shares": [{"name": "Analysis", "value": 20, "prodsourcelabel": "user|panda"},
                     {"name": "Chosen", "value": 20, "campaign": "c"}, {"name": "Trf", "value": 20, "transpath": "t"},
                     {"name": "Group", "value": 20, "workinggroup": "w"}, {"name": "Production", "value": 20}],
          T + "campaign": "x", T + "transpath": "x", T + "workinggroup": "x"}
EVEN = {"tasks.101.input": {"CENTRE": {"disk": 1}, "WEST": {"disk": 1}}}
AT_EAST = {"grid.storages.EAST_DATADISK.free": "90 TB", "queues.EAST": {}}
BARE = {"grid.queues.CENTRE.catchall": "bareNucleus=allow"}
LARGE = {"tasks.101.iointensity": 0, "tasks.101.input": {"CENTRE": {"disk": 0.5}, "WEST": {"disk": 0.1}}}
BROKEN_WEST = {"grid.storages.WEST_DATADISK.write_wan": "OFF"}
AUTO = {"grid.queues.NORTH.releases": ["AUTO"]}
CONTAINERS = of_task(transhome="Athena-24.0.5", container_name="image") | AUTO | {
    "grid.queues.NORTH.software": {"containers": ["any"]}}
SHORT_OF_WORK = {"gdpconfig.WORK_SHORTAGE": True, "grid.queues.WEST.pledgedcpu": 2000}
READING = of_task(iointensity=500, input_per_job="20 GB", files_per_job=4)
SECONDARY = {"bytes_per_job": "1 GB", "files_per_job": 1, "bytes": "10 GB", "files": 10,
             "input": {"NORTH": {"disk": 1}}}
HERE = "queues.NORTH."

ACTS = {
    "name": (102, {}, {"name": "another"}),
    "time": (102, {}, {"time": "40h"}),
    "statistics_at": (102, of_task(priority=900) | {HERE + "laststart": "33h"}, {"statistics_at": "33h"}),
    "edition": (102, {}, {"edition": "deployed"}),
    "seed": (101, EVEN, {"seed": 4}),
    "grid": (102, {}, {"grid.queues.WEST.maxrss": 1000}),
    "shares": (102, {}, SHARES | of_task(campaign="c")),
    "resource_types": (102, {}, {"resource_types.MCORE.maxrampercore": 400,
                                 "resource_types.MCORE_HIMEM.minrampercore": 401}),
    "gdpconfig": (102, {}, {"gdpconfig.NQUEUED_SAT_CAP": 10}),
    "jobs": (102, {}, {"jobs": []}),
    "placed": (102, {}, {"placed": []}),
    "queues": (102, {}, {"queues": {}}),
    "storage_mapping": (102, {}, {"storage_mapping": {"NORTH": "WEST"}}),
    "locked": (102, {}, {"locked": ["WEST"]}),
    "whole_queues": (102, of_task(site=["WEST"]), {"whole_queues": False}),
    "links": (102, {}, {"links": []}),
    "nuclei": (101, {}, {"nuclei": {"WEST": {"queued_files": 10**6}}}),
    "work": (101, {}, {"work": []}),
    "tasks": (102, {}, {"tasks.102.ramcount": "30 GB"}),
    **{f"jobs[].{status}": (102, {}, {f"jobs[4].{status}": 5000})
       for status in COUNTED_STATUSES},
    "jobs[].queue": (102, {}, {"jobs[6].queue": "SOUTH"}),
    "jobs[].share": (102, {}, {"jobs[6].share": "Analysis"}),
    "jobs[].resource_type": (102, {}, {"jobs[4].resource_type": "SCORE"}),
    "placed[].queue": (102, {}, {"placed[0].queue": "WEST"}),
    "placed[].share": (102, {}, {"placed[0].share": "Analysis"}),
    "placed[].jobs": (102, {}, {"placed[0].jobs": 500}),
    "queues.<name>.workers_submitted": (102, AT_EAST, {"queues.EAST.workers_submitted": 20}),
    "queues.<name>.workers_running": (102, AT_EAST, {"queues.EAST.workers_running": 20}),
    "queues.<name>.workers": (102, AT_EAST, {"queues.EAST.workers": {"MCORE": {"running": 20}}}),
    "queues.<name>.workers.<name>.submitted": (102, AT_EAST, {"queues.EAST.workers": {"MCORE": {"submitted": 20}}}),
    "queues.<name>.workers.<name>.running": (102, AT_EAST, {"queues.EAST.workers": {"MCORE": {"running": 20}}}),
    "queues.<name>.pull_ups": (102, AT_EAST | of_task(priority=100) | {"queues.EAST": {"workers_running": 20}},
                               {"queues.EAST.pull_ups": True}),
    "queues.<name>.slot_requests": (102, {}, {HERE + "slot_requests": [{"slots": 900}]}),
    "queues.<name>.slot_requests[].slots": (102, {HERE + "slot_requests": [{"slots": 900}]},
                                            {HERE + "slot_requests": [{"slots": 5}]}),
    "queues.<name>.slot_requests[].gshare": (102, {HERE + "slot_requests": [{"slots": 900}]},
                                             {HERE + "slot_requests": [{"slots": 900, "gshare": "Analysis"}]}),
    "queues.<name>.slot_requests[].expires": (102, {HERE + "slot_requests": [{"slots": 900}]},
                                              {HERE + "slot_requests": [{"slots": 900, "expires": "1h"}]}),
    "queues.<name>.slot_requests[].resource_type": (
        102, {HERE + "slot_requests": [{"slots": 900}]},
        {HERE + "slot_requests": [{"slots": 900}, {"slots": 1, "resource_type": "MCORE"}]}),
    "queues.<name>.n_pilot": (102, {}, {HERE + "n_pilot": 0}),
    "queues.<name>.laststart": (102, of_task(priority=900), {HERE + "laststart": "1h"}),
    "queues.<name>.cores_running": (102, SHORT_OF_WORK, {"queues.WEST.cores_running": 5000}),
    "queues.<name>.cores_starting": (102, SHORT_OF_WORK, {"queues.WEST.cores_starting": 5000}),
    "queues.<name>.transferring_to": (102, BROKEN_WEST | {"jobs[4].transferring": 5000},
                                      {HERE + "transferring_to": {"WEST": 4990}}),
    "queues.<name>.transferring_unwritable": (102, {"jobs[4].transferring": 5000},
                                              {HERE + "transferring_unwritable": 4990}),
    "queues.<name>.diskio": (102, of_task(diskIO=9000) | {"grid.queues.NORTH.maxdiskio": 500}, {HERE + "diskio": 800}),
    "links[].source": (102, {}, {"links[0].source": "EAST", "links[1].source": "NORTH"}),
    "links[].destination": (102, {}, {"links[0].destination": "CENTRE"}),
    "links[].queued_files": (102, {}, {"links[0].queued_files": 5000}),
    "links[].queued_express": (102, of_task(priority=1100), {"links[0].queued_express": 5000}),
    "links[].mbps_hour": (102, {}, {"links[0].mbps_hour": 2}),
    "links[].mbps_day": (102, {"links[0].mbps_hour": None}, {"links[0].mbps_day": 2}),
    "links[].mbps_week": (102, {"links[0].mbps_hour": None, "links[0].mbps_day": None}, {"links[0].mbps_week": 2}),
    "nuclei.<name>.queued_files": (101, {}, {"nuclei.WEST.queued_files": 10**6}),
    "nuclei.<name>.queued_bytes": (101, {}, {"nuclei.WEST.queued_bytes": "5 PB"}),
    "nuclei.<name>.work": (101, {}, {"nuclei.WEST.work": 5e9}),
    "nuclei.<name>.work_from": (101, {}, {"nuclei.WEST.work_from": {0: 5e9, 700: 4e9}}),
    "work[].nucleus": (101, {}, {"work[0].nucleus": "WEST"}),
    "work[].hs06sec": (101, {}, {"work[0].hs06sec": 1e10}),
    "work[].prodsourcelabel": (101, {}, {"work[0].prodsourcelabel": "user"}),
    "work[].gshare": (101, {"work[0].priority": 900}, {"work[0].gshare": "Analysis"}),
    "work[].priority": (101, {"work[0].priority": 900}, {"work[0].priority": 100}),
    "tasks.<name>.prodsourcelabel": (102, {}, of_task(prodsourcelabel="user")),
    "tasks.<name>.processingtype": (102, {}, of_task(processingtype="evgen")),
    "tasks.<name>.workinggroup": (102, SHARES, of_task(workinggroup="w")),
    "tasks.<name>.campaign": (102, SHARES, of_task(campaign="c")),
    "tasks.<name>.transpath": (102, SHARES, of_task(transpath="t")),
    "tasks.<name>.gshare": (102, {}, of_task(gshare="Analysis")),
    "tasks.<name>.priority": (102, {}, of_task(priority=900)),
    "tasks.<name>.corecount": (102, {}, of_task(corecount=1)),
    "tasks.<name>.events_per_job": (102, {}, of_task(events_per_job=100_000)),
    "tasks.<name>.basewalltime": (102, {}, of_task(basewalltime="60h")),
    "tasks.<name>.ramunit": (102, {}, of_task(ramunit="MB")),
    "tasks.<name>.baseramcount": (102, {}, of_task(baseramcount="20 GB")),
    "tasks.<name>.workdiskcount": (102, {}, of_task(workdiskcount="190 GB")),
    "tasks.<name>.files_per_job": (102, of_task(iointensity=500), of_task(files_per_job=30)),
    "tasks.<name>.cpuefficiency": (102, {}, of_task(cpuefficiency=1)),
    "tasks.<name>.diskIO": (102, {"grid.queues.NORTH.maxdiskio": 500, HERE + "diskio": 800}, of_task(diskIO=9000)),
    "tasks.<name>.architecture": (102, of_task(transhome="Athena-24.0.5"), of_task(architecture="a-b-c#aarch64")),
    "tasks.<name>.transhome": (102, AUTO, of_task(transhome="Athena-24.0.5")),
    "tasks.<name>.container_name": (102, AUTO | of_task(transhome="Athena-24.0.5"), of_task(container_name="image")),
    "tasks.<name>.onlyTagsForFC": (102, CONTAINERS, of_task(onlyTagsForFC=True)),
    "tasks.<name>.site": (102, {}, of_task(site=["NORTH"])),
    "tasks.<name>.maxCoreCount": (102, {}, of_task(maxCoreCount=4)),
    "tasks.<name>.walltime": (102, {}, of_task(walltime=10_000)),
    "tasks.<name>.allowInputLAN": (102, {}, of_task(allowInputLAN="only")),
    "tasks.<name>.useLocalIO": (102, of_task(input_per_job="200 GB") | {
        "grid.queues.NORTH.direct_access_lan": True}, of_task(useLocalIO=True)),
    "tasks.<name>.ipConnectivity": (102, {}, of_task(ipConnectivity="http#IPv4")),
    "tasks.<name>.mergeOutput": (102, {HERE + "laststart": "1h"}, of_task(mergeOutput=True)),
    "tasks.<name>.eventService": (102, {}, of_task(eventService=True)),
    "tasks.<name>.nEsConsumers": (102, EVENTS, of_task(nEsConsumers=50)),
    "tasks.<name>.maxAttemptEsJob": (102, EVENTS, of_task(maxAttemptEsJob=50)),
    "tasks.<name>.nJumboJobs": (102, JUMBO_AT_WEST, of_task(nJumboJobs=1)),
    "tasks.<name>.minGranularity": (102, EVENTS | {"grid.queues.NORTH.mintime": 1}, of_task(minGranularity=1)),
    "tasks.<name>.maxEventsPerJob": (102, EVENTS | of_task(minGranularity=1) | {"grid.queues.NORTH.mintime": "40h"},
                                     of_task(maxEventsPerJob=2)),
    "tasks.<name>.nucleus": (102, {}, of_task(nucleus="CENTRE")),
    "tasks.<name>.fullChain": (102, BARE | of_task(nucleus="CENTRE"), of_task(fullChain="only")),
    "tasks.<name>.t1Weight": (102, {}, of_task(t1Weight=-1)),
    "tasks.<name>.inputPreStaging": (
        102, FILE_BY_FILE | {T + DATA + "file_replicas": {"f0": ["NORTH_DATADISK"]}}, of_task(inputPreStaging=True)),
    "tasks.<name>.taskBrokerOnMaster": (101, OF_NUCLEI, {"tasks.101.taskBrokerOnMaster": True}),
    "tasks.<name>.secondary_input": (101, LARGE | {"tasks.101.taskBrokerOnMaster": True},
                                     {"tasks.101.secondary_input": 0.5}),
    "tasks.<name>.name": (102, {}, of_task(name="another")),
    "tasks.<name>.n_jobs": (102, {T + "n_jobs_to_broker": None}, of_task(n_jobs=5000)),
    "tasks.<name>.n_finished": (102, {T + "n_jobs_to_broker": None}, of_task(n_finished=200)),
    "tasks.<name>.n_failed": (102, {T + "n_jobs_to_broker": None}, of_task(n_failed=200)),
    "tasks.<name>.cputime": (102, {}, of_task(cputime=300_000)),
    "tasks.<name>.ramcount": (102, {}, of_task(ramcount="3 GB")),
    "tasks.<name>.iointensity": (102, {}, of_task(iointensity=500)),
    "tasks.<name>.input_per_job": (102, {}, of_task(input_per_job="100 GB")),
    "tasks.<name>.output_per_job": (102, {}, of_task(output_per_job="190 GB")),
    "tasks.<name>.brokerage": (102, {}, of_task(brokerage="task_brokerage")),
    "tasks.<name>.n_jobs_to_broker": (102, {}, of_task(n_jobs_to_broker=3)),
    "tasks.<name>.jeditaskid": (102, {}, of_task(jeditaskid=555)),
    "tasks.<name>.luck": (101, EVEN, {"tasks.101.luck": 12}),
    "tasks.<name>.n_nuclei": (101, EVEN, {"tasks.101.n_nuclei": 3}),
    "tasks.<name>.frozen_for": (101, LARGE, {"tasks.101.frozen_for": "60d"}),
    "tasks.<name>.taskpriority": (
        101, {"tasks.101.input": {"CENTRE": {"disk": 0.01}}}, {"tasks.101.taskpriority": 2000}),
    "tasks.<name>.resource_type": (102, {}, of_task(resource_type="MCORE_HIMEM")),
    "tasks.<name>.mergeramcount": (102, MERGING, of_task(mergeramcount="30 GB")),
    "tasks.<name>.mergecorecount": (102, MERGING, of_task(mergecorecount=1)),
    "tasks.<name>.cputimeunit": (102, of_task(cputime=300_000), of_task(cputimeunit="mHS06sPerEvent")),
    "tasks.<name>.walltimeunit": (102, of_task(cputime=0, cputimeunit=""), of_task(walltimeunit="kSI2kseconds")),
    "tasks.<name>.outdiskcount": (102, {}, of_task(outdiskcount=1e6)),
    "tasks.<name>.outdiskunit": (102, of_task(outdiskcount=1000), of_task(outdiskunit="GB")),
    "tasks.<name>.useJobCloning": (102, EVENTS, of_task(useJobCloning=True)),
    "tasks.<name>.ipStack": (102, of_task(ipConnectivity="http"), of_task(ipStack="IPv4")),
    "tasks.<name>.next_jobs": (102, {}, MERGING),
    "tasks.<name>.splitting": (102, FILE_BY_FILE, of_task(splitting={"nFilesPerJob": 2})),
    "tasks.<name>.input": (102, {}, of_task(input={"NORTH": {"disk": 1}})),
    "tasks.<name>.datasets": (102, {}, FILE_BY_FILE),
    "tasks.<name>.secondaries": (102, READING, with_secondary()),
    "tasks.<name>.secondaries[].bytes_per_job": (102, with_secondary(), with_secondary(bytes_per_job="15 GB")),
    "tasks.<name>.secondaries[].files_per_job": (102, with_secondary(), with_secondary(files_per_job=3)),
    "tasks.<name>.secondaries[].bytes": (102, with_secondary(), with_secondary(bytes="900 TB")),
    "tasks.<name>.secondaries[].files": (102, with_secondary(), with_secondary(files=1)),
    "tasks.<name>.secondaries[].input": (102, with_secondary(), with_secondary(input={"EAST": {"disk": 1}})),
    "tasks.<name>.outputs": (101, {}, {"tasks.101.outputs": ["SCRATCHDISK"]}),
    "tasks.<name>.remaining_work": (101, {}, of_task(remaining_work=1e11)),
    "tasks.<name>.without_share": (102, {"grid.queues.WEST.fairsharepolicy": "gshare=Production:0%"},
                                   of_task(without_share=True)),
    "tasks.<name>.parent": (101, BARE | {"tasks.101.fullChain": "capable"},
                            {"tasks.101.parent": {"nucleus": "CENTRE", "fullChain": "only"}}),
    "tasks.<name>.parent.nucleus": (101, BARE | {"tasks.101.fullChain": "capable"},
                                    {"tasks.101.parent": {"nucleus": "CENTRE", "fullChain": "only"}}),
    "tasks.<name>.parent.fullChain": (
        101, BARE | {"tasks.101.fullChain": "capable", "tasks.101.parent": {"nucleus": "CENTRE"}},
        {"tasks.101.parent": {"nucleus": "CENTRE", "fullChain": "only"}}),
    "tasks.<name>.next_jobs.scout": (102, {"grid.queues.NORTH.pledgedcpu": -1}, of_task(next_jobs={"scout": True})),
    "tasks.<name>.next_jobs.merging": (102, {}, MERGING),
    "tasks.<name>.next_jobs.premerge": (102, {}, of_task(next_jobs={"premerge": {"queue": "NORTH"}})),
    "tasks.<name>.next_jobs.premerge.queue": (102, {}, of_task(next_jobs={"premerge": {"queue": "NORTH"}})),
    "tasks.<name>.next_jobs.premerge.input_idle": (
        102, of_task(frozen_for="3d", next_jobs={"premerge": {"queue": "NORTH"}}),
        of_task(next_jobs={"premerge": {"queue": "NORTH", "input_idle": "9d"}})),
    "tasks.<name>.next_jobs.ramcount": (102, {}, of_task(next_jobs={"ramcount": "30 GB"})),
    "tasks.<name>.next_jobs.jumbo": (102, JUMBO_AT_WEST | of_task(nJumboJobs=1), of_task(next_jobs={"jumbo": "only"})),
    "tasks.<name>.next_jobs.ready_events": (102, JUMBO_AT_WEST | of_task(nJumboJobs=1),
                                            of_task(next_jobs={"ready_events": 5})),
    "tasks.<name>.next_jobs.resource_types": (102, {}, of_task(next_jobs={"resource_types": {"WEST": ["SCORE"]}})),
    "tasks.<name>.next_jobs.u": (101, EVEN, {"tasks.101.next_jobs": {"u": 0.999}}),
    "tasks.<name>.splitting.nEventsPerJob": (102, FILE_BY_FILE, of_task(splitting={"nEventsPerJob": 2000})),
    "tasks.<name>.splitting.nFilesPerJob": (102, FILE_BY_FILE, of_task(splitting={"nFilesPerJob": 2})),
    "tasks.<name>.splitting.nMaxFilesPerJob": (
        102, FILE_BY_FILE | of_task(splitting={"nEventsPerJob": 2000}),
        of_task(splitting={"nEventsPerJob": 2000, "nMaxFilesPerJob": 1})),
    "tasks.<name>.splitting.nFilesPerMergeJob": (102, MERGED_FILES, of_task(splitting={"nFilesPerMergeJob": 2})),
    "tasks.<name>.splitting.nEventsPerMergeJob": (102, MERGED_FILES, of_task(splitting={"nEventsPerMergeJob": 2000})),
    "tasks.<name>.splitting.nMaxFilesPerMergeJob": (
        102, MERGED_FILES | of_task(splitting={"nEventsPerMergeJob": 2000}),
        of_task(splitting={"nEventsPerMergeJob": 2000, "nMaxFilesPerMergeJob": 1})),
    "tasks.<name>.input.<name>.disk": (102, of_task(iointensity=500), of_task(input={"NORTH": {"disk": 1}})),
    "tasks.<name>.input.<name>.tape": (101, LARGE, {"tasks.101.input": {"CENTRE": {"disk": 0.5},
                                                                        "WEST": {"disk": 0.1, "tape": 1}}}),
    "tasks.<name>.datasets.<name>.type": (101, OF_NUCLEI, {"tasks.101.datasets.main.type": "pseudo_input"}),
    "tasks.<name>.datasets.<name>.secondary": (102, FILE_BY_FILE, {T + "datasets.beside.secondary": False}),
    "tasks.<name>.datasets.<name>.attributes": (102, FILE_BY_FILE, {T + "datasets.beside.attributes": "ratio=2"}),
    "tasks.<name>.datasets.<name>.n_files": (102, FILE_BY_FILE, {T + DATA + "n_files": 9}),
    "tasks.<name>.datasets.<name>.bytes": (101, OF_NUCLEI, {"tasks.101.datasets.main.bytes": "900 TB"}),
    "tasks.<name>.datasets.<name>.files": (102, FILE_BY_FILE, {T + DATA + "files": {"f0": {"bytes": "90 GB"}}}),
    "tasks.<name>.datasets.<name>.replicas": (102, FILE_BY_FILE,
                                              {T + DATA + "replicas": {"NORTH_DATADISK": {"files": 2}}}),
    "tasks.<name>.datasets.<name>.file_replicas": (102, with_files(102, iointensity=0, allowInputLAN=None),
                                                   {T + DATA + "file_replicas": {"f0": ["NORTH_DATADISK"]}}),
    "tasks.<name>.datasets.<name>.virtual": (102, FILE_BY_FILE, {T + DATA + "virtual": ["NORTH_DATADISK"]}),
    "tasks.<name>.datasets.<name>.distributed": (
        102, FILE_BY_FILE | {T + DATA + "n_files": 100, T + "datasets.beside.n_files": 2}, {
            T + DATA + "distributed": True}),
    "tasks.<name>.datasets.<name>.has_rules": (102, FILE_BY_FILE | {T + DATA + "n_files": 100},
                                               {T + DATA + "has_rules": False}),
    "tasks.<name>.datasets.<name>.constituent": (102, FILE_BY_FILE, {T + "datasets.beside.constituent": True}),
    "tasks.<name>.datasets.<name>.constituents": (
        101, OF_NUCLEI | {"tasks.101.datasets.beside.constituent": True},
        {"tasks.101.datasets.main.constituents": ["beside"]}),
    "tasks.<name>.datasets.<name>.files.<name>.bytes": (102, FILE_BY_FILE, {T + DATA + "files.f0.bytes": "100 GB"}),
    "tasks.<name>.datasets.<name>.files.<name>.events": (102, FILE_BY_FILE, {T + DATA + "files.f0.events": 10**6}),
    "tasks.<name>.datasets.<name>.files.<name>.first_event": (
        102, FILE_BY_FILE | {T + DATA + "files.f0.last_event": 10**6}, {T + DATA + "files.f0.first_event": 1}),
    "tasks.<name>.datasets.<name>.files.<name>.last_event": (
        102, FILE_BY_FILE | {T + DATA + "files.f0.first_event": 1}, {T + DATA + "files.f0.last_event": 10**6}),
    "tasks.<name>.datasets.<name>.replicas.<name>.files": (102, FILE_BY_FILE,
                                                           {T + DATA + "replicas.NORTH_DATADISK.files": 2}),
    "tasks.<name>.datasets.<name>.replicas.<name>.of_files": (102, FILE_BY_FILE,
                                                              {T + DATA + "replicas.NORTH_DATADISK.of_files": 1}),
    "tasks.<name>.datasets.<name>.replicas.<name>.bytes": (
        101, OF_NUCLEI | {"tasks.101.datasets.main.replicas": {"NORTH_DATADISK": {"files": 2},
                                                               "WEST_DATADISK": {"files": 1}}},
        {"tasks.101.datasets.main.replicas.WEST_DATADISK.bytes": "900 TB"}),
    "tasks.<name>.datasets.<name>.replicas.<name>.of_bytes": (
        101, OF_NUCLEI, {"tasks.101.datasets.main.replicas.WEST_DATADISK.of_bytes": "900 TB"}),
}
"""For each key: the task that is asked, a change of the example, and a second one with the key that matters."""
OF_SCENARIOS = {
    "grid.queues.<name>.slot_requests": (102, {}, {"grid.queues.NORTH.slot_requests": [{"slots": 900}]}),
}
"""Keys of parts that scenarios have as well."""
NAMES_OR_WORDS = {"strict", "description", "tasks.<name>.username"}
"""Keys for the reader, and that of the reading itself."""
REMARKED = {"tasks.<name>.allowInputWAN", *(f"tasks.<name>.{name}" for name in OF_ENDS),
            *(f"tasks.<name>.splitting.{name}" for name in ("groupBoundaryID", *LARGER_JOBS)),
            *(f"jobs[].{status}" for status in NOT_COUNTED),
            "policies"}


@pytest.fixture(scope="module")
def example():
    """The example."""
    return load_snapshot(EXAMPLE)


def keys():
    """Every key of a snapshot that is not also one of a scenario, as docs/snapshot.md has them."""
    return {f"{part.key}.{name}".lstrip(".") for part in snapshot_parts() for name in fields_by_key(part.model)}


def test_every_key_has_a_picture():
    assert keys() - NAMES_OR_WORDS - REMARKED == ACTS.keys() | PICTURES.keys()


@pytest.mark.parametrize("key", [*ACTS, *OF_SCENARIOS])
def test_a_key_changes_an_answer(example, key):
    task, before, more = (ACTS | OF_SCENARIOS)[key]
    plain = example.with_values(before)
    changed = plain.with_values(more)
    assert any(broker(plain, task, edition).to_dict() != broker(changed, task, edition).to_dict()
               for edition in ((None,) if key == "edition" else ("documented", "deployed")))


OLD, NEW = {"edition": "documented"}, {"edition": "deployed"}
WITHOUT_EFFECT = [
    pytest.param(102, OLD, {"jobs[4].holding": 5000}, "jobs[4].holding = 5000: has no effect: brokers do not count",
                 id="jobs of a status that no rule reads"),
    pytest.param(102, OLD, {"locked": ["WEST"]}, "locked: has no effect: only the deployed", id="locks as documented"),
    pytest.param(102, OLD, {"queues.EAST.pull_ups": True}, "queues.EAST.pull_ups = True: has no effect: only the",
                 id="unified pilot streaming as documented"),
    pytest.param(101, OLD, {"nuclei.WEST.work_from": {0: 5e9}}, "nuclei.WEST.work_from: has no effect: only the",
                 id="work by priority as documented"),
    pytest.param(102, NEW, of_task(allowInputWAN=True), "allowInputWAN = True: has no effect: jobs read by it in runs",
                 id="reading over WAN is no matter of brokers"),
    pytest.param(102, NEW, of_task(goal=900), "goal = 900: has no effect: what watches and ends tasks in runs",
                 id="the goal of a task is no matter of brokers"),
    pytest.param(102, OLD, of_task(useLocalIO=True), "useLocalIO = True: has no effect: only the deployed",
                 id="local copies as documented"),
    pytest.param(102, OLD, of_task(nJumboJobs=1, next_jobs={"jumbo": "only"}), "nJumboJobs = 1: has no effect: only",
                 id="jumbo jobs as documented"),
    pytest.param(102, NEW, of_task(next_jobs={"ready_events": 7}), "ready_events = 7: has no effect without nJumboJobs",
                 id="events without jumbo jobs"),
    pytest.param(102, NEW, of_task(next_jobs={"jumbo": "fake"}), "jumbo = 'fake': has no effect without nJumboJobs",
                 id="a kind of jumbo jobs without any"),
    pytest.param(101, OLD, {"tasks.101.next_jobs": {"premerge": {"queue": "NORTH"}}},
                 "premerge: has no effect: only job brokerage reads it", id="queue of merge jobs of task brokerage"),
    pytest.param(101, OLD, {"tasks.101.n_jobs_to_broker": 7}, "n_jobs_to_broker = 7: has no effect: only job brokerage",
                 id="jobs of task brokerage"),
    pytest.param(102, OLD | of_task(next_jobs={"premerge": {"queue": "NORTH"}}),
                 of_task(next_jobs={"premerge": {"queue": "NORTH", "input_idle": 60}}),
                 "input_idle = 60.0: has no effect: only the deployed", id="idle input as documented"),
    pytest.param(102, OLD, of_task(mergeramcount="30 GB"), "mergeramcount = 30000.0: has no effect without next_jobs.",
                 id="memory of merge jobs that do not merge"),
    pytest.param(102, OLD, of_task(outdiskunit="GB"), "outdiskunit = 'GB': has no effect without outdiskcount",
                 id="the unit of no output"),
    pytest.param(102, OLD | of_task(outdiskcount=1000), of_task(output_per_job="7 GB"),
                 "output_per_job = 7000000000.0: has no effect: outdiskcount says it", id="output said twice"),
    pytest.param(102, NEW | of_task(cputime=0), of_task(cputimeunit="mHS06sPerEvent"),
                 "cputimeunit = 'mHS06sPerEvent': has no effect without cputime", id="the unit of no CPU time"),
    pytest.param(102, NEW, of_task(walltimeunit="kSI2ks"), "walltimeunit = 'kSI2ks': has no effect: only the",
                 id="the unit of no wall time"),
    pytest.param(102, OLD, of_task(useJobCloning=True), "useJobCloning = True: has no effect without eventService",
                 id="clones without event service"),
    pytest.param(102, OLD | of_task(ipConnectivity="http#IPv4"), of_task(ipStack="IPv6"),
                 "ipStack = 'IPv6': has no effect: `ipConnectivity` says it", id="an IP stack said twice"),
    pytest.param(102, OLD | FILE_BY_FILE, of_task(input_per_job="7 GB"), "input_per_job = 7000000000.0: has no effect",
                 id="input said twice"),
    pytest.param(102, OLD | FILE_BY_FILE, of_task(splitting={"nGBPerJob": 7}), "nGBPerJob = 7.0: has no effect",
                 id="larger jobs"),
    pytest.param(102, OLD | FILE_BY_FILE, of_task(splitting={"groupBoundaryID": 1}),
                 "groupBoundaryID = 1: has no effect: files of a snapshot have no boundaryID", id="no boundaryID"),
    pytest.param(102, OLD | FILE_BY_FILE, of_task(splitting={"nFilesPerMergeJob": 7}),
                 "nFilesPerMergeJob = 7: has no effect: the jobs do not merge", id="files of merge jobs"),
    pytest.param(102, OLD | MERGED_FILES, of_task(splitting={"nFilesPerJob": 7}),
                 "nFilesPerJob = 7: has no effect: the jobs merge output", id="files of jobs that merge"),
    pytest.param(102, OLD | FILE_BY_FILE | of_task(splitting={"nFilesPerJob": 2}),
                 of_task(splitting={"nFilesPerJob": 2, "nEventsPerJob": 7}),
                 "nEventsPerJob = 7: has no effect beside nFilesPerJob", id="files and events"),
    pytest.param(102, OLD | FILE_BY_FILE, of_task(splitting={"nMaxFilesPerJob": 7}),
                 "nMaxFilesPerJob = 7: has no effect: jobs are not made by events", id="most files without events"),
    pytest.param(101, OLD | OF_NUCLEI, {"tasks.101.datasets.main.constituents": ["elsewhere"]},
                 "datasets.main.constituents[0] = 'elsewhere': has no effect: the task has no such dataset",
                 id="an unknown part of a container"),
    pytest.param(102, NEW | FILE_BY_FILE, {T + DATA + "file_replicas": {"f9": ["NORTH_DATADISK"]}},
                 "file_replicas.f9: has no effect: it is not among `files`", id="a replica of an unknown file"),
    pytest.param(102, NEW | FILE_BY_FILE, {T + "datasets.beside.file_replicas": {"g0": ["NORTH_DATADISK"]}},
                 "file_replicas.g0: has no effect: files of this dataset count together", id="a file of a secondary"),
    pytest.param(102, NEW | FILE_BY_FILE, {T + DATA + "files.f0.first_event": 7},
                 "files.f0.first_event = 7: has no effect without last_event", id="events from, but not to"),
    pytest.param(102, OLD | FILE_BY_FILE, {T + DATA + "distributed": True}, "distributed = True: has no effect: only",
                 id="a scattered dataset as documented"),
]
"""Task that is asked, a picture, the key that does nothing there, and the beginning of its remark."""


@pytest.mark.parametrize(("task", "before", "more", "said"), WITHOUT_EFFECT)
def test_a_key_without_effect_is_remarked(example, task, before, more, said):
    plain = example.with_values(before)
    changed = plain.with_values(more)
    answers = [broker(one, task).to_dict() for one in (plain, changed)]
    assert answers[0] == answers[1]
    found = [str(each) for each in unread_keys(changed) if each not in [*unread_keys(plain)]]
    assert said in found[0]


def test_a_policy_that_is_not_asked_is_remarked(example):
    assert remarks(example.with_values({"policies.throttle": "gentle"})) == (
        "policies.throttle = 'gentle': has no effect: only brokers are asked",)


def test_a_remark_names_file_and_line(tmp_path):
    text = EXAMPLE.read_text(encoding="utf-8").replace("    iointensity: 500\n",
                                                       "    iointensity: 500\n    outdiskunit: GB\n")
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    line = text[:text.index("outdiskunit")].count("\n") + 1
    assert remarks(load_snapshot(tmp_path / "mine.yaml")) == (
        f"{tmp_path}/mine.yaml:{line}: tasks.101.outdiskunit = 'GB': has no effect without outdiskcount",)


def test_the_example_has_no_key_without_effect(example):
    assert remarks(example) == ()
