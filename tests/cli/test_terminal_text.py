"""Text for a terminal, and the progress of a run."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.cli.progress import Pace, Progress, steps
from simgrid_broker.cli.text import count, table


def test_a_table_wraps_its_last_column_and_aligns_numbers_to_the_right():
    assert table(("key", "n", "meaning"), [("A", "1", "some words that need room, and more of them"), ("BB", "22", "")],
                 numbers=(1,), width=34).splitlines() == [
        "key   n  meaning",
        "----------------------------------",
        "A     1  some words that need",
        "         room, and more of them",
        "BB   22"]


def test_a_first_cell_too_long_for_the_terminal_stands_above_its_row():
    rows = [("a_long_name_of_a_user", "1,000", "2,000"), ("short", "3", "4")]
    head = ("user", "waiting", "started")
    assert table(head, rows, numbers=(1, 2), width=30).splitlines() == [
        "user           waiting started",
        "------------------------------",
        "a_long_name_of_a_user",
        "                 1,000   2,000",
        "short                3       4"]
    assert "a_long_name_of_a_user   1,000" in table(head, rows, numbers=(1, 2), width=37)


@given(st.lists(st.tuples(st.text("ab ", max_size=60), st.text("ab ", max_size=60), st.text("ab ", max_size=60)),
                max_size=5), st.integers(20, 120))
def test_no_word_of_a_table_is_lost(rows, width):
    words = sorted(" ".join(cell for row in rows for cell in row).split())
    assert sorted(table(("", "", ""), rows, width=width).replace("-", " ").split()) == words


@pytest.mark.parametrize(("number", "text"), [(0, "0 sites"), (1, "1 site"), (1200, "1,200 sites")])
def test_counted_nouns(number, text):
    assert count(number, "site") == text


def test_the_pace_excludes_delayed_steps():
    pace = Pace()
    for now, simulated_s, jobs in ((0, 10, 0), (40, 20, 0), (41, 30, 50), (42, 40, 100), (43, 50, 150)):
        pace.mark(now, simulated_s, jobs)
    assert pace.rates() == (10, 50)


def test_there_is_no_pace_before_three_steps():
    pace = Pace()
    for now in range(3):
        pace.mark(now, now, now)
        assert pace.rates() == (0, 0)


class Clock:
    """A clock that advances by `step_s` at each call."""

    def __init__(self, step_s):
        self.now, self.step_s = 0.0, step_s

    def __call__(self):
        self.now += self.step_s
        return self.now


class Simulation:
    """The part of a simulation that progress reads."""

    def __init__(self):
        self.env, self.jobs_ended, self.running_cores = self, 0, 1234
        self.now = 0.0

    def steps(self, progress, n):
        """Advance by `n` steps of a minute with ten jobs each, calling `progress`."""
        for _ in range(n):
            self.now += 60
            self.jobs_ended += 10
            progress(self)


def test_without_a_terminal_there_is_a_line_every_ten_seconds(capsys):
    progress = Progress(3600, Clock(1.0))
    Simulation().steps(progress, 60)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6
    assert lines[0].startswith(" 17 %  10 min of 1 h, 1,234 cores, 10 jobs/s, ends ")


def test_on_a_terminal_there_is_a_bar(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = Progress(3600, Clock(1.0))
    Simulation().steps(progress, 60)
    progress.close()
    last = capsys.readouterr().err.split("\r")[-1]
    assert last.startswith("100 % |") and "1 h of 1 h, 1,234 cores, 10 jobs/s, done" in last


def test_steps_have_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("tqdm.tqdm.monitor_interval", 0)
    seen = list(steps("Writing the report")(("a", "b", "c")))
    result = capsys.readouterr().err
    assert seen == ["a", "b", "c"] and "Writing the report |" in result and "0 of 3" in result
    assert result.split("\r")[-1].strip() == ""                    # and disappears


def test_steps_are_silent_without_a_terminal(capsys):
    assert list(steps("Writing the report")(range(3))) == [0, 1, 2] and capsys.readouterr().err == ""
