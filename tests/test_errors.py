import pickle

import pytest

from simgrid_broker import errors
from simgrid_broker.errors import Problem, nearest


@pytest.mark.parametrize(("problem", "text"), [
    pytest.param(Problem("week.yaml", 12, "seed", "x", "expected a number"),
                 "week.yaml:12: seed = 'x': expected a number", id="file, line, key, value and expectation"),
    pytest.param(Problem("week.yaml", None, "seed", 3, "too much"), "week.yaml: seed = 3: too much", id="no line"),
    pytest.param(Problem(None, None, "seed", None, "is missing"), "seed: is missing", id="no file and no value"),
    pytest.param(Problem("a.yaml", None, "", None, "cannot be read"), "a.yaml: cannot be read", id="the whole file"),
    pytest.param(Problem("a.yaml", 1, "teir", 2, "no such key", ("tier",)),
                 "a.yaml:1: teir = 2: no such key; did you mean 'tier'?", id="one nearest name"),
    pytest.param(Problem(None, None, "k", 0, "no", ("a", "b")), "k = 0: no; did you mean 'a' or 'b'?", id="two names"),
    pytest.param(Problem(None, None, "k", "x" * 99, "no"), "k = '" + "x" * 56 + "...: no", id="a long value is cut"),
])
def test_a_problem_reads_as_a_sentence(problem, text):
    assert str(problem) == text


def test_all_problems_are_told():
    told = str(errors.ScenarioError([Problem(None, None, "a", 1, "no"), Problem(None, None, "b", 2, "neither")]))
    assert told == "2 problems in the scenario:\n  - a = 1: no\n  - b = 2: neither"
    assert str(errors.InputFileError([Problem("f", 1, "", None, "no")])) == "1 problem in the input file:\n  - f:1: no"


@pytest.mark.parametrize("error", [
    pytest.param(errors.ScenarioError([Problem("f", 1, "k", [1], "no", ("a",))]), id="ScenarioError"),
    pytest.param(errors.InputFileError([Problem("f", 1, "k", 2, "no")]), id="InputFileError"),
    pytest.param(errors.OutputError("no room"), id="OutputError"),
    pytest.param(errors.ForbiddenMove("job 3: running to pending"), id="ForbiddenMove"),
    pytest.param(errors.OutOfRows("jobs"), id="OutOfRows"),
    pytest.param(errors.InvariantBroken(["a job is lost", "a core is used twice"]), id="InvariantBroken"),
])
def test_errors_survive_the_way_between_processes(error):
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error) and str(back) == str(error)
    assert isinstance(back, errors.SimgridBrokerError)


@pytest.mark.parametrize(("word", "found"), [
    pytest.param("onlin", ("online",), id="a letter is missing"),
    pytest.param("ONLINE", ("online",), id="case does not count"),
    pytest.param("elephant", (), id="nothing is near"),
])
def test_nearest_names(word, found):
    assert nearest(word, ("online", "brokeroff", "test")) == found
