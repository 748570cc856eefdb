"""The retry module: what a failed job changes in its task and files."""

from collections import Counter
from math import inf, nan
from typing import Any

from panda_cases.shape import either, fields, named, reads, real, rows, text, whole
from simgrid_broker.names import PandaError, RetryAction
from simgrid_broker.policy.jobs import retry_module as rules
from simgrid_broker.units import MINUTE

INPUTS = ("input", "pseudo_input", "pp_input", "trn_log", "trn_output")
RULE_GB, RULE_FILES, FIRST = "nGBPerJob", "nMaxFilesPerJob", "retryModuleRules"
A = RetryAction


COUNT = whole(0, 0)
RULE = fields(retryaction=text(None, A.words()), errorsource=text(), errorcode=whole(), errorDiag=text(),
              parameters=text(""), architecture=text(), release=text(), workqueue_id=whole(), active=text())
FILE = fields(
    fileID=whole(), datasetID=whole(), pandaID=whole(), status=text(), type=text(), lfn=text(""), fsize=real(0, 0),
    keepTrack=whole(), **dict.fromkeys(("attemptNr", "maxAttempt", "failedAttempt", "maxFailure", "ramCount", "nevents",
                                        "startevent", "endevent"), whole()))


@reads(rules=rows(RULE), inactive_actions=rows(text()), files=rows(FILE),
       error_classification=rows(fields(error_code=whole(), **dict.fromkeys(
           ("error_source", "error_diag", "error_class", "active"), text()))),
       queue=fields(optional=True, maxtime=real(0, 0), corepower=real(0, 0)),
       job=fields(
           PandaID=whole(), attemptNr=COUNT, coreCount=whole(), minRamCount=real(), minRamUnit=text(),
           AtlasRelease=text(), cmtConfig=text(), workQueue_ID=whole(), walltime=real(0, 0), maxPSS=real(0, 0),
           errors=rows(fields(source=text(), error_code=either(text(), whole()), error_diag=text()))),
       task=fields(
           jediTaskID=whole(), walltime=real(), ramCount=whole(), ramUnit=text(), baseRamCount=COUNT, cpuTime=real(),
           cpuTimeUnit=text(), cpuEfficiency=real(0, 0), baseWalltime=real(0, 0), walltimeUnit=text(),
           finished_jobs=COUNT, modified_minutes_ago=real(0),
           datasets=rows(fields(datasetID=whole(), type=text(), masterID=whole())),
           splitRules=fields(rest=real(), retryModuleRules=named(real()))))
def answer(case: dict) -> dict:
    """Actions in order, and the attributes that they change."""
    found = Failure(case)
    job, task = case["job"], case["task"]
    scope = rules.Scope(job["cmtConfig"], job["AtlasRelease"], job["workQueue_ID"])
    known = [rule_of(row, case["inactive_actions"]) for row in case["rules"] if row["retryaction"]]
    rules.act(known, errors_of(job), scope, case["edition"], found.apply)
    found.classify()
    return {"actions": found.actions, "task": found.task_changes(task), "files": found.changed()}


def rule_of(row: dict, inactive: Any) -> rules.RetryRule:
    """A row of RETRYERRORS."""
    pairs = [item.partition("=") for item in row["parameters"].split("&")]
    return rules.RetryRule(
        row["errorsource"], row["errorcode"], A.of(row["retryaction"]), row["errorDiag"],
        rules.Scope(row["architecture"], row["release"], row["workqueue_id"]),
        {name: value for name, sign, value in pairs if sign},
        row["active"] == "Y" and row["retryaction"] not in inactive)


def errors_of(job: dict) -> list[PandaError]:
    """Errors of a job that have a code."""
    return [PandaError(one["source"], int(one["error_code"]), one["error_diag"]) for one in job["errors"]
            if str(one["error_code"]).lstrip("-").isdigit()]


def given_up(file: dict) -> bool:
    """True if a file has failed as often as it may."""
    return None not in (file["maxFailure"], file["failedAttempt"]) and file["failedAttempt"] >= file["maxFailure"]


class Failure:
    """A failed job with the files of its task, to which rules are applied."""

    def __init__(self, case: dict):
        self.case, self.job, self.task = case, case["job"], dict(case["task"])
        self.split: dict = dict(self.task["splitRules"])
        self.files = [dict(file) for file in case["files"]]
        self.without_task = self.job.get("jediTaskID", self.task["jediTaskID"]) in (None, 0)
        self.own = [file for file in self.files if file["pandaID"] == self.job["PandaID"] and file["type"] in INPUTS
                    and not self.without_task]
        self.actions: list[dict] = []

    def apply(self, rule: rules.RetryRule) -> bool:
        """Do what an active rule says; True if this is all for the job."""
        action: dict = {"action": A(rule.retryaction).word}
        self.actions.append(action)
        if rule.retryaction in rules.LIMITING:
            self.limit(rule, action)
        elif rule.retryaction == A.INCREASE_CPUTIME:
            return self.more_cputime(action)
        elif rule.retryaction == A.REDUCE_INPUT_PER_JOB:
            action["applied"] = self.reduce(rule)
        else:
            self.more_memory(rule.retryaction == A.INCREASE_MEMORY_XTIMES)
        return True

    def limit(self, rule: rules.RetryRule, action: dict) -> None:
        """Lower maxAttempt of the job's input, or set it to the attempts made."""
        if rule.retryaction == A.LIMIT_RETRY:
            action["maxAttempt"] = rule.max_attempt
        masters = {id(file) for file in self.masters()}
        own = [file for file in self.own if id(file) in masters and not given_up(file)]
        least = min((file["maxAttempt"] for file in own if file["maxAttempt"] is not None), default=0)
        for file in own:
            if rule.retryaction == A.NO_RETRY:
                file["maxAttempt"] = file["attemptNr"]
            elif rule.max_attempt < least:
                file["maxAttempt"] = rule.max_attempt

    def more_memory(self, xtimes: bool) -> None:
        """Raise the memory of the task or of the job's input."""
        task, job, split = self.task, self.job, self.split
        if task["ramCount"] is None or job["minRamCount"] is None or self.without_task:
            return
        failure = rules.MemoryFailure(job["minRamCount"], job.get("coreCount") or 1, 0,
                                      job.get("minRamUnit") in ("MB", None, "NULL"))
        masters = self.masters()
        raised = Counter(file["ramCount"] for file in masters if file["ramCount"] is not None)
        now = rules.TaskMemory(task["ramCount"], task["ramUnit"] or "MB", task["baseRamCount"], len(masters),
                               tuple(raised.items()))
        if xtimes:
            new = rules.increased_xtimes(failure, now, float(split.get("retryRamStep") or 1),
                                         float(split.get("retryRamMax") or inf))
        else:
            new = rules.increase_memory(self.case["edition"], failure, now)
        if new.of_task is not None:
            task["ramCount"] = new.of_task
        for file in self.own:
            if None not in (new.of_input, file["ramCount"]) and file["ramCount"] < new.of_input:
                file["ramCount"] = new.of_input

    def masters(self) -> list[dict]:
        """Files of the master datasets of the task."""
        own = {one["datasetID"] for one in self.case["task"]["datasets"]
               if one["masterID"] is None and one["type"] in INPUTS}
        return [file for file in self.files if file["datasetID"] in own]

    def more_cputime(self, action: dict) -> bool:
        """Raise the CPU time of the task, or ask for a new measurement."""
        task, queue = self.task, self.case["queue"]
        if queue is None:                                     # the code fails, and goes on
            self.actions.pop()
            self.recalculate()
            return True
        milli = task["cpuTimeUnit"] == "mHS06sPerEvent"
        known = task["cpuTimeUnit"] in ("HS06sPerEvent", "mHS06sPerEvent") and task["cpuTime"] is not None
        new = rules.first_cputime(
            rules.FailedForTime(self.n_events(), self.job.get("coreCount") or 1, self.job.get("walltime") or 0,
                                queue["maxtime"] or 0, queue["corepower"] or 0),
            rules.TaskTime(task["cpuTime"] / (1000 if milli else 1) if known else nan, task["baseWalltime"] or 0,
                           task["cpuEfficiency"] or 0, task["finished_jobs"]))
        if new is None:
            action |= dict(cpuTime=None, cpuTimeUnit=None)
            self.recalculate()
            return True
        small = 0 < new < rules.SMALL_HS06S
        task["cpuTime"] = round(new * rules.MILLI) if small else int(new)
        task["cpuTimeUnit"] = "mHS06sPerEvent" if small else "HS06sPerEvent"
        action |= {key: task[key] for key in ("cpuTime", "cpuTimeUnit")}
        if not new:
            self.recalculate()
        return not new

    def n_events(self) -> int:
        """Events of the job's input."""
        masters = [id(file) for file in self.masters()]
        return sum((file["endevent"] or 0) - (file["startevent"] or 0) if file["endevent"] and file["startevent"]
                   else file["nevents"] or 0 for file in self.own
                   if id(file) in masters and "DBRelease" not in file["lfn"])

    def recalculate(self) -> None:
        """Ask for a new measurement of the task."""
        applied = rules.may_recalculate(self.task["modified_minutes_ago"] * MINUTE)
        self.actions.append({"action": "recalculation", "applied": applied})
        if applied:
            self.task["walltimeUnit"] = None

    def reduce(self, rule: rules.RetryRule) -> bool | None:
        """Reduce the input of the next jobs."""
        split, first = self.split, dict(self.split.get(FIRST) or {})
        if rules.keeps_input(rule, split) or self.without_task:
            return False
        limits = rules.InputLimits(*(int(of.get(name) or 0) for of in (split, first) for name in (RULE_GB, RULE_FILES)))
        own = [file for file in self.files if file["pandaID"] == self.job["PandaID"]]
        masters = {id(file) for file in self.masters()}
        try:
            new = rules.reduced_input(limits, self.job["attemptNr"], sum(file["fsize"] or 0 for file in own),
                                      sum(id(file) in masters for file in own), rules.steps_of(rule))
        except ValueError:
            return None
        if new is None:
            return False
        first = {RULE_GB: new.first_gb, RULE_FILES: new.first_files}
        split.update({RULE_GB: new.gb, RULE_FILES: new.files, FIRST: first})
        return True

    def classify(self) -> None:
        """Let the failure not count if its error is of class system."""
        classes = [rules.ErrorClass(row["error_source"], row["error_code"], row["error_diag"], row["error_class"],
                                 row["active"] == "Y") for row in self.case["error_classification"]]
        if rules.is_system(classes, errors_of(self.job)):
            self.actions.append({"action": "increase_max_failure"})
            for file in self.own:
                if file["maxFailure"] is not None and file["keepTrack"] == 1:
                    file["maxFailure"] += 1

    def task_changes(self, before: dict) -> dict:
        """Attributes of the task that changed."""
        found = {key: value for key, value in self.task.items() if key != "splitRules" and value != before[key]}
        return found | ({"splitRules": self.split} if self.split != before["splitRules"] else {})

    def changed(self) -> dict:
        """Attributes of files that changed."""
        pairs = zip(self.files, self.case["files"], strict=True)
        found = {str(new["fileID"]): {key: value for key, value in new.items() if value != old[key]}
                 for new, old in pairs}
        return {name: changes for name, changes in found.items() if changes}
