"""JumboWatchDog: tasks, their input files and the priorities of their jobs after one pass."""

from panda_cases.shape import fields, named, reads, real, rows, text, whole
from simgrid_broker.names import EventService, EventStatus, JobStatus, TaskStatus
from simgrid_broker.systems.events.policy.jumbo import (
    ACTIVE,
    DISABLED,
    JumboTask,
    Limits,
    files_to_reset,
    flag_after_kick,
    watch,
)
from simgrid_broker.systems.events.table import PROCESSED

KEYS = {"JUMBO_MIN_EVENTS_DISABLE": "least", "JUMBO_PROG_TO_BOOST": "progress", "JUMBO_MAX_FILES_TO_BOOST": "files",
        "JUMBO_PRIO_DISABLED": "disabled_priority"}
DATASET = fields(**dict.fromkeys(("nEvents", "nEventsUsed", "nFiles", "nFilesFinished", "nFilesFailed"), real(0)))
FILE = fields(**dict.fromkeys(("fileID", "attemptNr", "maxAttempt", "maxFailure"), whole()), status=text(),
              proc_status=text(), jobs=rows(whole()), events=named(whole(0)))
JOB = fields(PandaID=whole(), where=text("active"), jobStatus=text("pending", JobStatus.words()),
             eventService=whole(0), currentPriority=real())
TASK = fields(jediTaskID=whole(), status=text("defined", TaskStatus.words()), useJumbo=text(), currentPriority=real(0),
              site=text(), lockedBy=text(), splitRules=fields(), dataset=DATASET, files=rows(FILE, "fileID"),
              jobs=rows(JOB, "PandaID"))
"""A task; one of an unknown status is not watched, and a job of an unknown status is not active."""


@reads(config=fields(**dict.fromkeys(KEYS, real())), tasks=rows(TASK, "jediTaskID"))
def answer(case: dict) -> dict:
    """Changes by one pass."""
    config = case["config"]
    limits = Limits(**{name: config[key] for key, name in KEYS.items() if config[key] is not None})
    return dict(tasks={str(task["jediTaskID"]): after(task, limits) for task in case["tasks"]})


def after(task: dict, limits: Limits) -> dict:
    """A task after the pass."""
    found = watch(view(task), limits)
    flag, rules, actions, files = task["useJumbo"], dict(task["splitRules"]), [], {}
    if found.disables:
        flag, rules = DISABLED, rules | dict(nJumboJobs=0, maxJumboPerSite=0)
        actions.append(dict(action="disable"))
    actions += [dict(action="priority", value=value) for value in found.priorities]
    priority = found.priorities[-1] if found.priorities else task["currentPriority"]
    if found.kicks:
        kicked = flag_after_kick(flag, task["lockedBy"] is not None)
        actions.append(dict(action="kick", value=int(kicked != flag)))
        flag = kicked
    if found.resets:
        chosen = reset(task)
        files = {str(one["fileID"]): one_more(one) for one in chosen}
        actions.append(dict(action="reset", value=len(chosen)))
    of_jobs = {str(job["PandaID"]): priority for job in task["jobs"]
               if found.priorities and job["where"] != "archived" and job["currentPriority"] != priority}
    return dict(useJumbo=flag, currentPriority=priority, splitRules=rules, actions=actions, files=files,
                job_priorities=of_jobs)


def view(task: dict) -> JumboTask:
    """A task as the watchdog reads it."""
    dataset, jobs = task["dataset"], task["jobs"]
    ranges = sum(n for file in task["files"] if file["status"] != "finished" for status, n in file["events"].items()
                 if status in EventStatus.words() and (PROCESSED >> EventStatus.of(status)) & 1)
    return JumboTask(
        TaskStatus.of(task["status"]), task["useJumbo"] or "", task["currentPriority"], task["site"] is not None,
        dataset["nEvents"], dataset["nEventsUsed"] + ranges, dataset["nFiles"],
        dataset["nFilesFinished"] + dataset["nFilesFailed"],
        sum(job["eventService"] == EventService.JUMBO and job["where"] != "archived"
            and JobStatus.of(job["jobStatus"]) in ACTIVE for job in jobs))


def reset(task: dict) -> list[dict]:
    """Input files for which co-jumbo jobs are made again."""
    files = {file["fileID"]: file for file in task["files"]}
    chosen = files_to_reset({number: file["jobs"] for number, file in files.items()},
                            [number for number, file in files.items() if file["status"] == "running"],
                            [job["PandaID"] for job in task["jobs"] if job["where"] != "archived"])
    return [files[number] for number in chosen]


def one_more(file: dict) -> dict:
    """Attributes of a file that are changed for one more attempt."""
    counts = {name: file[name] + 1 for name in ("attemptNr", "maxAttempt", "maxFailure") if file[name] is not None}
    words = {name: "ready" for name in ("status", "proc_status") if file[name] != "ready"}
    return counts | words
