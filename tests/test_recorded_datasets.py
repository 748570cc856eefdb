"""Recorded cases of production code on the datasets of tasks: every case of a kind is asked."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TASKS = ROOT.parent / "shared" / "data" / "panda_decisions_tasks"
LIFE = TASKS.parent / "panda_decisions_life"


@pytest.mark.parametrize(("folder", "kind"), [
    pytest.param(TASKS, "task_end", id="task_end: hyper-parameter tasks are given up", marks=pytest.mark.rule(
        "end_of_task", "final_status", "status_of_input", "is_exhausted", "completeness", "dataset_after")),
    pytest.param(TASKS, "task_progress", id="task_progress", marks=pytest.mark.rule(
        "is_over", "awaits_jobs", "look_of", "after_input", "prepared", "reopened")),
    pytest.param(LIFE, "job_splitter", id="job_splitter: distributed input, sizes of chunks and onSiteMerging are "
                                          "given up", marks=pytest.mark.rule(
        "cutting.cut_jobs", "job_limits", "size_limit", "walltimes", "piece_walltime", "merge_job_limits")),
])
def test_recorded_cases(folder, kind, monkeypatch, tmp_path):
    if not folder.exists():
        pytest.skip("the folder of recorded decisions is absent")
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    compare, results = folder / "compare.py", tmp_path / "results.json"
    cases = json.loads(subprocess.check_output([sys.executable, compare, kind, "--dump-inputs"]))
    results.write_text(json.dumps(importlib.import_module("compare_with_panda").answers(kind, cases)))
    said = subprocess.run([sys.executable, compare, kind, results], capture_output=True, text=True)
    score = json.loads(said.stdout)
    page = importlib.import_module("agreement").on_page()
    assert score["missing"] == 0 and (score["scored"], score["agree"]) == page[kind], said.stderr
