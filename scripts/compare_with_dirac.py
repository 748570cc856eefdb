#!/usr/bin/env python3
"""Answer recorded cases of DIRAC's task-queue database with the deployed edition of `simgrid_broker.match`.

    scripts/compare_with_dirac.py KIND --cases INPUTS.json --out RESULTS.json

KIND is matching, state, queue or job. INPUTS is a list of cases, or an object with a list `cases`, as
`compare.py KIND --dump-inputs --expand` writes them; RESULTS is a list of results as it reads them. A case is a
snapshot and a request; what its format leaves to defaults of its own is filled in, and keys that DIRAC does not know
are left out. Every decision is made by the installed package.
"""

import sys
from typing import Any

import case_files
from pydantic import BaseModel

from simgrid_broker import match
from simgrid_broker.systems.dirac.input.snapshot import DiracGroup, DiracJob, DiracRequest, DiracSnapshot
from simgrid_broker.systems.dirac.match.match import Matching, RequestAnswer

DEFAULTS = dict(Owner="user", OwnerGroup="group", CPUTime=100)
"""Values of a job that a case does not give."""
EVERY_CPU = 10**9
"""CPUTime of a request that a case does not give."""
ANY_REQUEST = dict(CPUTime=EVERY_CPU)


def asked(case: dict[str, Any]) -> Matching:
    """The answers to all requests of a case."""
    jobs = [DEFAULTS | _known(job, DiracJob) for job in case["jobs"]]
    snapshot = _given(case, DiracSnapshot)
    groups = {name: _given(group or {}, DiracGroup) for name, group in snapshot.get("groups", {}).items()}
    given = case.get("resource") or ANY_REQUEST
    requests = [ANY_REQUEST | _known(request, DiracRequest) for request in
                (given if isinstance(given, list) else [given])]
    return match(snapshot | dict(jobs=jobs, groups=groups, edition="deployed"), requests)


def _known(values: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """The values whose keys DIRAC knows."""
    return {key: value for key, value in values.items() if key in model.model_fields}


def _given(values: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """The values whose keys DIRAC knows, without null, which is no value outside of jobs and requests."""
    return {key: value for key, value in _known(values, model).items() if value is not None}


def matching(found: Matching) -> dict[str, Any]:
    """The eligible task queues of each request, or its error."""
    return dict(matching=[dict(error=each.error["type"]) if each.error else [queue.name for queue in each.matching]
                          for each in found.requests])


def state(found: Matching) -> dict[str, Any]:
    """The jobs and the priority of each task queue."""
    return dict(queues=[dict(jobs=list(jobs), priority=queue.priority) for queue, jobs in found.queues])


def queue(found: Matching) -> dict[str, Any]:
    """The probability of each task queue."""
    answer, = found.requests
    chances = {each.name: each.probability for each in answer.matching}
    return dict(probabilities=chances | _without_job(answer))


def job(found: Matching) -> dict[str, Any]:
    """The probability of each job."""
    answer, = found.requests
    return dict(probabilities=dict(answer.jobs) | _without_job(answer))


def _without_job(answer: RequestAnswer) -> dict[str, float]:
    return {"error": 1.0} if answer.error else dict(answer.outcomes)


KINDS = {kind.__name__: kind for kind in (matching, state, queue, job)}
"""How the answers of each kind of case are written."""


def answers(kind: str, cases: list[dict]) -> list[dict]:
    """The results of all cases; one that fails has the text of its error instead, which is also printed."""
    def answer(case: dict[str, Any]) -> dict[str, Any]:
        found = asked(case)
        return dict(refused=list(found.refused), queues=[list(jobs) for _, jobs in found.queues]) | KINDS[kind](found)
    return [case_files.answered(answer, case, name=case.get("name")) for case in cases]


if __name__ == "__main__":
    sys.exit(case_files.main(__doc__, KINDS, answers))
