#!/usr/bin/env python3
"""Count, by kind, the recorded decisions of production code with which the program agrees.

    scripts/agreement.py                  ask all kinds, print the table
    scripts/agreement.py --write          put the table into docs/fidelity.md
    scripts/agreement.py KIND ...         some kinds only; with --write the rows of the others stay

The cases are those of ../shared/data; each kind is answered through `compare_with_panda.py` and scored by the set's own
`compare.py`. Kinds of the brokers on queues of a real grid begin with `cric/`, and answer by 1.0.3 unless they name
another release.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import compare_with_panda

from simgrid_broker.editions import RELEASES

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
PAGE = ROOT / "docs" / "fidelity.md"
BROKERS = "task_broker_prod", "job_broker_prod", "job_broker_anal"
OLDEST, NEWEST = RELEASES[0], RELEASES[-1]


class Recorded(NamedTuple):
    """Recorded cases of a kind: folder of the `compare.py` that scores them, of the cases if another, and release."""

    kind: str
    folder: str
    cases: str | None = None
    release: str = OLDEST

    def compared(self, *arguments: str | Path) -> list[str | Path]:
        """Command of `compare.py` with some arguments."""
        expected = [] if self.cases is None else ["--expected", DATA / self.cases]
        return [sys.executable, DATA / self.folder / "compare.py", self.kind, *arguments, *expected]


KINDS = {kind: Recorded(kind, folder) for folder, kinds in {
    "panda_decisions_life": ("job_splitter", "worker_adjuster", "retry_module", "scouts"),
    "panda_decisions_tasks": ("fast_rebrokerage", "timeouts", "task_end", "task_progress", "analysis_classes",
                              "production_boost", "analysis_priorities", "data_carousel", "task_throttling"),
    "panda_decisions_events": ("es_job_end", "es_kill", "es_ranges", "jumbo_watchdog", "es_conversion"),
}.items() for kind in kinds} | {
    kind: Recorded(kind, "panda_decisions", "panda_decisions")
    for kind in (*BROKERS, "software", "share_order", "throttler", "ups", "zero_share")} | {
    f"cric/{kind}": Recorded(kind, "panda_decisions", "panda_decisions_cric") for kind in BROKERS} | {
    f"cric/{NEWEST}/{kind}": Recorded(kind, "panda_decisions", f"panda_decisions_cric/release_{NEWEST}", NEWEST)
    for kind in (*BROKERS[1:], "software")}
"""Recorded cases by the name of their row."""
BEGIN, END = "<!-- begin of what scripts/agreement.py writes -->", "<!-- end of what scripts/agreement.py writes -->"
HEADER = ("| kind | recorded | scored | agree |", "| --- | --- | --- | --- |")


def score(name: str) -> dict[str, int]:
    """Scored and agreeing cases of a kind, and those that are not scored, as its `compare.py` counts them."""
    recorded = KINDS[name]
    whole = [] if recorded.cases is None else ["--expand"]
    dumped = json.loads(subprocess.check_output(recorded.compared("--dump-inputs", *whole)))
    cases = dumped["cases"] if isinstance(dumped, dict) else dumped
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers.json"
        answers.write_text(json.dumps(compare_with_panda.answers(recorded.kind, cases, recorded.release)))
        said = subprocess.run(recorded.compared(answers), capture_output=True, text=True)
    found = json.loads(said.stdout)
    return {"recorded": len(cases), "scored": found["scored"], "agree": found["agree"]}


def row(name: str) -> str:
    """Row of the table for a kind."""
    return "| `{name}` | {recorded} | {scored} | {agree} |".format(name=name, **score(name))


def rows_of(page: str) -> dict[str, str]:
    """Rows of the table on the page, by kind."""
    table = page.partition(BEGIN)[2].partition(END)[0]
    return {match[1]: match[0] for match in re.finditer(r"^\| `([\w./]+)` .*$", table, re.MULTILINE)}


def on_page() -> dict[str, tuple[int, int]]:
    """Scored and agreeing cases on the page, by kind."""
    cells = {kind: [cell.strip() for cell in line.split("|")] for kind, line in rows_of(PAGE.read_text()).items()}
    return {kind: (int(line[3]), int(line[4])) for kind, line in cells.items()}


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
