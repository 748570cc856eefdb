"""The script that answers cases of DIRAC's production code, on a case written here and on the recorded ones."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "compare_with_dirac.py"
RECORDED = ROOT.parent / "shared" / "data" / "dirac_matches"
CASE = dict(name="a", groups=dict(g=dict(job_share=900)), resource=[dict(Site="A"), dict(CPUTime="x"), dict(Site="B")],
            jobs=[dict(id=1, OwnerGroup="g", Sites=["A"], Platform="unknown"), dict(id=2, OwnerGroup="g", priority=-1),
                  dict(id=3, count=2, OwnerGroup="g", CPUTime=1000)])


@pytest.fixture(scope="module")
def script():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("compare_with_dirac", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_as_a_command(script, tmp_path):
    given, out = tmp_path / "inputs.json", tmp_path / "results.json"
    given.write_text(json.dumps([CASE]))
    subprocess.run([sys.executable, SCRIPT, "matching", "--cases", given, "--out", out], check=True, cwd=ROOT)
    assert json.loads(out.read_text()) == script.answers("matching", [CASE])


def test_a_case_of_each_kind(script):
    def answer(kind, **changed):
        one, = json.loads(json.dumps(script.answers(kind, [CASE | changed])))
        return one
    assert answer("matching") == dict(name="a", refused=[2], queues=[[1], [3, 4]],
                                      matching=[[1, 3], dict(error="type"), [3]])
    assert answer("state")["queues"] == [dict(jobs=[1], priority=450), dict(jobs=[3, 4], priority=450)]
    assert answer("queue", resource={})["probabilities"] == pytest.approx({"1": 0.5, "3": 0.5})
    assert answer("job", resource=dict(Site="B"))["probabilities"] == pytest.approx({"3": 0.5, "4": 0.5})
    assert answer("job", resource=dict(CPUTime=1))["probabilities"] == {"no match": 1}


def test_null_has_the_meaning_of_a_missing_field_outside_of_jobs_and_requests(script):
    plain = dict(name="a", jobs=[dict(id=1, OwnerGroup="g"), dict(id=2, Owner=None)])
    bare = plain | dict(groups=None, operations=None, history=None, users=None, negative=None, resource=None)
    of_group = plain | dict(groups=dict(g=dict(job_share=None, vo=None, job_sharing=None, other=3), group=None))
    expected = dict(name="a", refused=[2], queues=[dict(jobs=[1], priority=1000)])
    assert script.answers("state", [plain, bare, of_group]) == [expected] * 3


@pytest.mark.skipif(not RECORDED.is_dir(), reason=f"the recorded cases are not in {RECORDED}")
@pytest.mark.parametrize(("kind", "number"), [("matching", 141), ("state", 58), ("queue", 24), ("job", 18)])
def test_all_recorded_cases_without_quirks_agree(script, kind, number, tmp_path):
    score = [sys.executable, RECORDED / "compare.py", kind]
    inputs = subprocess.run([*score, "--dump-inputs", "--expand"], check=True, capture_output=True, text=True)
    (tmp_path / "results.json").write_text(json.dumps(script.answers(kind, json.loads(inputs.stdout))))
    scored = subprocess.run([*score, tmp_path / "results.json"], capture_output=True, text=True)
    assert scored.returncode == 0 and f"{number} of {number} cases agree" in scored.stdout, scored.stdout
