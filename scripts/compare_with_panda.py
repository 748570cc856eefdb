#!/usr/bin/env python3
"""Answer recorded cases of PanDA's production code with the rules of the deployed edition.

    scripts/compare_with_panda.py KIND --cases INPUTS.json --out RESULTS.json

INPUTS is a list of cases or an object with a list `cases`; each case carries its whole grid. RESULTS is a list of
answers, each with the `id` of its case, the fields that PanDA's answer has, and `limits`: inputs that could not be
expressed. Every decision is made by the installed package; `panda_cases` translates cases and answers.
"""

import argparse
import importlib
import json
import sys
import traceback
from pathlib import Path

KINDS = ("job_broker_prod", "task_broker_prod", "share_order", "throttler", "ups", "zero_share", "software")
"""Kinds of cases; each is a module of `panda_cases` with a function `answer` of one case."""


def answers(kind: str, cases: list[dict]) -> list[dict]:
    """Answers of all cases; one that fails has the text of its error instead, which is also printed."""
    answer = importlib.import_module(f"panda_cases.{kind}").answer
    found = []
    for case in cases:
        try:
            found.append({"id": case.get("id"), "limits": []} | answer(case))
        except Exception as error:
            traceback.print_exc()
            found.append({"id": case.get("id"), "limits": [], "error": f"{type(error).__name__}: {error}"})
    return found


def main() -> int:
    """Read cases and write their answers; exit status 1 if a case failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--cases", type=Path, required=True, help="file with the cases")
    parser.add_argument("--out", type=Path, required=True, help="file for the answers")
    options = parser.parse_args()
    given = json.loads(options.cases.read_text())
    found = answers(options.kind, given["cases"] if isinstance(given, dict) else given)
    options.out.write_text(json.dumps(found))
    return int(any("error" in one for one in found))


if __name__ == "__main__":
    sys.exit(main())
