"""Rules of the retry module and classes of errors, as a scenario writes them, with their defaults and checks."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Literal

from pydantic import Field

from simgrid_broker.errors import nearest
from simgrid_broker.names import MOST_ATTEMPTS, PANDA_ERRORS
from simgrid_broker.scenario.loading.origins import Finding
from simgrid_broker.schema.part import LeafName, Part

SourceName = Literal["pilotErrorCode", "exeErrorCode", "supErrorCode", "ddmErrorCode", "brokerageErrorCode",
                     "jobDispatcherErrorCode", "taskBufferErrorCode"]
"""Columns of a job that hold error codes; source: PanDA's retry module, get_job_error_details."""


class RetryParameters(Part):
    """Parameters of a retry rule's action."""

    maxAttempt: int | None = Field(None, ge=1, le=MOST_ATTEMPTS, description="Attempts that limit_retry leaves to the "
                                   "input")
    steps: str | None = Field(None, pattern=r"^\d+,\d+,\d+$", description="Attempts from which reduce_input_per_job "
                              "gives a job half, a quarter, and 1 GB or file; default 2,4,7")
    excluded_rules: str | None = Field(None, pattern=r"^(nEventsPerJob|nFilesPerJob)(,(nEventsPerJob|nFilesPerJob))?$",
                                       description="Split rules of tasks that reduce_input_per_job leaves alone, "
                                                   "separated by commas; default nEventsPerJob,nFilesPerJob")
    retryRamStep: float | None = Field(None, gt=0, description="Factor of increase_memory_xtimes: inputs ask for what "
                                       "the job asked for times retryRamStep over ramCount of the task")
    retryRamMax: float | None = Field(None, gt=0, description="Most memory that increase_memory_xtimes gives to a job, "
                                      "MB")


class RetryRule(Part):
    """A row of PanDA's table RETRYERRORS; what is left out matches everything."""

    errorsource: SourceName = Field(description="Column of the job that holds the error code")
    errorcode: int = Field(description="Error code")
    errordiag: str | None = Field(None, description="Regular expression for the diagnostics, matched from their start")
    retryaction: Literal["no_retry", "limit_retry", "increase_memory", "increase_cputime",
                         "increase_memory_xtimes", "reduce_input_per_job"] = Field(description="Action")
    parameters: RetryParameters = Field(RetryParameters(), description="Parameters of the action")
    architecture: str | None = Field(None, description="Only for tasks with this architecture")
    release: str | None = Field(None, description="Only for tasks with this transHome")
    workqueue: LeafName | None = Field(None, description="Only for tasks of this leaf share")
    active: bool = Field(True, description="Whether the rule is in force")


class ErrorClass(Part):
    """A row of PanDA's table ERROR_CLASSIFICATION."""

    error_source: SourceName = Field(description="Column of the job that holds the error code")
    error_code: int = Field(description="Error code")
    error_diag: str = Field(".*", description="Regular expression for the diagnostics, matched from their start")
    error_class: Literal["system", "user"] = Field("system", description="Failures of class system do not count for "
                                                   "max_failure; the class user changes nothing")
    active: bool = Field(True, description="Whether the row is in force")


DEFAULT_RETRY_RULES = (RetryRule(errorsource="pilotErrorCode", errorcode=1212, retryaction="increase_memory"),)
"""Out of memory: ask for more, the only rule in the JEDI TWiki; the others in production are not public."""

KEYS = (("retry_rules", "errorsource", "errorcode", "errordiag"),
        ("error_classification", "error_source", "error_code", "error_diag"))
"""Each list with its names of an error's source, code and diagnostics."""


def unknown_error(scenario) -> Iterator[Finding]:
    """The errors that rules are about can happen in a simulation."""
    for part, source, code, _ in KEYS:
        for position, rule in enumerate(getattr(scenario, part)):
            known = _known_codes(getattr(rule, source))
            if not known:
                sources = dict.fromkeys(error.source for error in PANDA_ERRORS.values())
                yield Finding((part, position, source), getattr(rule, source),
                              f"no failure is reported in this column; expected one of {', '.join(sources)}")
            elif str(getattr(rule, code)) not in known:
                listed = ", ".join(f"{number} ({diag})" for number, diag in known.items())
                yield Finding((part, position, code), getattr(rule, code),
                              f"no failure has this code; known are {listed}", nearest(str(getattr(rule, code)), known))


def _known_codes(source: str) -> dict[str, str]:
    known: dict[str, str] = {}
    for error in PANDA_ERRORS.values():
        if error.source == source:
            code = str(error.code)
            known[code] = f"{known[code]}; {error.diag}" if code in known else error.diag
    return known


def bad_diagnostics(scenario) -> Iterator[Finding]:
    """Diagnostics are regular expressions."""
    for part, _, _, diag in KEYS:
        for position, rule in enumerate(getattr(scenario, part)):
            text = getattr(rule, diag)
            try:
                re.compile(text or "")
            except re.error as error:
                yield Finding((part, position, diag), text, f"is not a regular expression: {error}")


def unknown_diagnostics(scenario) -> Iterator[Finding]:
    """The diagnostics that rules name belong to some error."""
    for part, source, code, diag in KEYS:
        for position, rule in enumerate(getattr(scenario, part)):
            known = [error.diag for error in PANDA_ERRORS.values()
                     if (error.source, error.code) == (getattr(rule, source), getattr(rule, code))]
            with suppress(re.error):
                if known and not any(re.match(getattr(rule, diag) or "", one, re.DOTALL) for one in known):
                    yield Finding((part, position, diag), getattr(rule, diag), "no failure has this code and text; "
                                  "expected what matches the start of " + " or ".join(map(repr, known)),
                                  nearest(getattr(rule, diag), known))


READ = {"limit_retry": ("maxAttempt",), "increase_memory_xtimes": ("retryRamStep", "retryRamMax"),
        "reduce_input_per_job": ("steps", "excluded_rules")}
"""Parameters that each action reads."""
NEEDED = {"limit_retry": "maxAttempt", "increase_memory_xtimes": "retryRamStep"}
"""Parameter without which an action has no effect."""


def parameters_of_actions(scenario) -> Iterator[Finding]:
    """Each action has the parameters that it needs, and only those that it reads."""
    for position, rule in enumerate(scenario.retry_rules):
        key, given = ("retry_rules", position), {name for name, value in rule.parameters if value is not None}
        action = rule.retryaction
        needed = NEEDED.get(action)
        if needed and needed not in given:
            yield Finding(key, None, f"{action} needs `parameters: {{{needed}: ...}}`",
                          depends_on=((*key, "parameters", needed),))
        for name in sorted(given - set(READ.get(action, ()))):
            yield Finding((*key, "parameters", name), getattr(rule.parameters, name), f"{action} does not read this")


RETRY_RULES = (unknown_error, bad_diagnostics, unknown_diagnostics, parameters_of_actions)
