"""The script that prints where recorded answers and the program's part, on small cases of three kinds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "truth.py"


@pytest.fixture
def report(tmp_path):
    """Exit status and printed lines of the script for a kind, a document of cases, and answers if they are given."""
    def told(kind, document, answers=None):
        files = [tmp_path / "cases.json", tmp_path / "answers.json"][:1 if answers is None else 2]
        for file, content in zip(files, (document, answers), strict=False):
            file.write_text(json.dumps(content))
        done = subprocess.run([sys.executable, SCRIPT, kind, *files], capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines(), done.stderr

    return told


def judged(**verdicts):
    """Verdicts on queues: `+use` or a criterion each; a question mark ends one that was not recorded exactly."""
    return {name: dict(kept=word == "+use", criterion=word.rstrip("?"), exact=not word.endswith("?"))
            for name, word in verdicts.items()}


def test_cases_part_by_rule_with_the_smallest_example(report):
    cases = [dict(id="a", tag="cap", padding="x" * 9), dict(id="b", tag="cap"), dict(id="c", tag="time"),
             dict(id="d", tag="time"), dict(id="e", tag="time"), dict(id="f", tag="lost")]
    recorded = [dict(id="a", new_workers=dict(Q=1), why=""), dict(id="b", new_workers=dict(Q=2)),
                dict(id="c", new_workers=dict(Q=1.0)), dict(id="d", status="EXCEPTION"),
                dict(id="e", new_workers={}, order_sensitive=True), dict(id="f", new_workers={})]
    answers = [dict(id="a", new_workers=dict(Q=3), limits=[]), dict(id="b", new_workers=dict(Q=None)),
               dict(id="c", new_workers=dict(Q=1 + 1e-10)), dict(id="d", new_workers={}), dict(id="e", new_workers={})]
    status, lines, _ = report("ups", dict(cases=cases, expected=recorded), answers)
    assert (status, lines) == (1, [
        "4 cases compared, 1 agree, 3 part; 1 not compared (EXCEPTION); 1 not compared (order_sensitive)",
        "not answered by the program: why",
        "", "cap: 2 of 2", "     2  new_workers.Q", "        b new_workers.Q: recorded 2, program null",
        "", "lost: 1 of 1", "     1  no answer: absent", "        f : recorded an answer, program absent"])


def test_verdicts_of_a_broker_are_counted_by_criterion_and_queues_tied_at_the_cut_are_equal(report):
    recorded = dict(id="a", status="SUCCEEDED", queues=judged(A="+use", B="-low_weight", C="-disk?", D="-disk", P="-x"),
                    candidates=[dict(queue="A", weight=2.0)], weights=dict(A=2.0, B=dict(weight=2.0)))
    recorded["queues"]["P"]["criterion"] = "unified_parent"
    program = recorded | dict(queues=judged(A="-low_weight", B="+use", C="-io", D="-io", E="-io"),
                              candidates=[dict(queue="B", weight=2.0)], weights=dict(A=2.0, B=2.0))
    status, lines, _ = report("job_broker_prod", dict(cases=[dict(id="a")], expected=[recorded]), [program])
    assert (status, lines) == (1, [
        "1 cases compared, 0 agree, 1 part", "", "cases without a tag: 1 of 1",
        "     1  queues.D recorded -disk, program -io", "        a queues.D: recorded -disk, program -io"])


def test_the_program_is_asked_if_no_answers_are_given(report):
    case = dict(id="z", fairsharepolicy="type=evgen:100%,type=any:0%", priority=10, processingType="simul",
                workingGroup=None, gshare="Simul", ignorePriority=False)
    known = dict(id="z", zero_share=True)
    assert report("zero_share", dict(cases=[case], expected=[known]))[:2] == (0, ["1 cases compared, 1 agree, 0 part"])
    assert report("zero_share", dict(cases=[case]), dict(expected=[known | dict(zero_share=False)]))[:2] == (1, [
        "1 cases compared, 0 agree, 1 part", "", "cases without a tag: 1 of 1", "     1  zero_share",
        "        z zero_share: recorded false, program true"])
    status, _, complaint = report("zero_share", dict(cases=[case]))
    assert status == 2
    assert "no recorded answers under the key expected" in complaint
