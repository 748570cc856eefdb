#!/usr/bin/env python3
"""Answer recorded cases of a release of PanDA's production code with the rules of that release.

    scripts/compare_with_panda.py KIND --cases INPUTS.json --out RESULTS.json [--release 1.0.3]

INPUTS is a list of cases or an object with a list `cases`; each case carries its whole grid. RESULTS is a list of
answers, each with the `id` of its case, the fields that PanDA's answer has, and `limits`: inputs that could not be
expressed. Every decision is made by the installed package; `panda_cases` translates cases and answers.
"""

import importlib
import sys

import case_files

from simgrid_broker.editions import RELEASES

KINDS = ("job_broker_prod", "job_broker_anal", "task_broker_prod", "share_order", "throttler", "ups", "zero_share",
         "fast_rebrokerage", "data_carousel", "analysis_classes", "analysis_priorities", "production_boost",
         "task_throttling", "software", "retry_module", "worker_adjuster", "task_end", "task_progress", "job_splitter",
         "scouts", "timeouts", "es_job_end", "es_kill", "es_ranges", "jumbo_watchdog", "es_conversion")
"""Kinds of cases; each is a module of `panda_cases` with a function `answer` of one case."""


def answers(kind: str, cases: list[dict], release: str = RELEASES[0]) -> list[dict]:
    """Answers of a release to all cases; one that fails has the text of its error instead, which is also printed."""
    answer = importlib.import_module(f"panda_cases.{kind}").answer
    return [case_files.answered(answer, case | dict(edition=f"deployed-{release}"), id=case.get("id"), limits=[])
            for case in cases]


if __name__ == "__main__":
    sys.exit(case_files.main(__doc__, KINDS, answers, RELEASES))
