#!/usr/bin/env python3
"""Count, by kind, the recorded decisions of the life of tasks, jobs and workers with which the program agrees.

    scripts/agreement.py                  ask all kinds, print the table
    scripts/agreement.py --write          put the table into docs/fidelity.md
    scripts/agreement.py KIND ...         some kinds only; with --write the rows of the others stay

The cases are those of ../shared/data; each kind is answered through `compare_with_panda.py` and scored by the set's own
`compare.py`. A kind that `compare_with_panda.py` does not know has no figure.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import compare_with_panda

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
PAGE = ROOT / "docs" / "fidelity.md"
KINDS = dict.fromkeys(("job_splitter", "worker_adjuster", "retry_module", "scouts"), "panda_decisions_life") | (
    dict.fromkeys(("fast_rebrokerage", "timeouts", "task_end", "task_progress", "analysis_classes", "production_boost",
                   "analysis_priorities", "data_carousel", "task_throttling"), "panda_decisions_tasks")) | (
    dict.fromkeys(("es_job_end", "es_kill", "es_ranges", "jumbo_watchdog", "es_conversion"), "panda_decisions_events"))
"""Folder of the recorded cases of each kind."""
BEGIN, END = "<!-- begin of what scripts/agreement.py writes -->", "<!-- end of what scripts/agreement.py writes -->"
HEADER = ("| kind | recorded | scored | agree |", "| --- | --- | --- | --- |")
NOT_ANSWERED = "not answered"


def score(kind: str) -> dict[str, int]:
    """Scored and agreeing cases of a kind, and those that are not scored, as its `compare.py` counts them."""
    compare = DATA / KINDS[kind] / "compare.py"
    cases = json.loads(subprocess.check_output([sys.executable, compare, kind, "--dump-inputs"]))
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers.json"
        answers.write_text(json.dumps(compare_with_panda.answers(kind, cases)))
        said = subprocess.run([sys.executable, compare, kind, answers], capture_output=True, text=True)
    found = json.loads(said.stdout)
    return {"recorded": len(cases), "scored": found["scored"], "agree": found["agree"]}


def row(kind: str) -> str:
    """Row of the table for a kind."""
    if kind not in compare_with_panda.KINDS:
        return f"| `{kind}` |  |  | {NOT_ANSWERED} |"
    return "| `{kind}` | {recorded} | {scored} | {agree} |".format(kind=kind, **score(kind))


def rows_of(page: str) -> dict[str, str]:
    """Rows of the table on the page, by kind."""
    table = page.partition(BEGIN)[2].partition(END)[0]
    return {match[1]: match[0] for match in re.finditer(r"^\| `(\w+)` .*$", table, re.MULTILINE)}


def on_page() -> dict[str, tuple[int, int]]:
    """Scored and agreeing cases on the page, by kind, of the kinds that are answered."""
    cells = {kind: [cell.strip() for cell in line.split("|")] for kind, line in rows_of(PAGE.read_text()).items()}
    return {kind: (int(line[3]), int(line[4])) for kind, line in cells.items() if line[4] != NOT_ANSWERED}


def main() -> None:
    """Print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="*", choices=(*KINDS, []), help="kinds; default all")
    parser.add_argument("--write", action="store_true", help="put the table into docs/fidelity.md")
    options = parser.parse_args()
    page = PAGE.read_text()
    rows = rows_of(page) | {kind: row(kind) for kind in options.kind or KINDS}
    table = "\n".join((*HEADER, *(rows[kind] for kind in KINDS if kind in rows)))
    print(table)
    if options.write:
        before, _, rest = page.partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
