"""Figures with their units, and sentences of them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.wording import COUNTED, FORMS, duration, figure, labels, worded


@pytest.mark.parametrize(("number", "unit", "text"), [
    (0, "bytes", "0 B"), (999, "bytes", "999 B"), (1000, "bytes", "1.0 kB"), (1.8e9, "bytes", "1.8 GB"),
    (99.9e9, "bytes", "99.9 GB"), (215e9, "bytes", "215 GB"), (-4e12, "bytes", "-4.0 TB"),
    (999.96e6, "bytes", "1.0 GB"),
    (16000, "MB", "16.0 GB"), (2001, "MB", "2.0 GB"), (500, "MB", "500 MB"), (1536, "MiB", "1.5 GiB"),
    (1023, "MiB", "1,023 MiB"), (102400, "GiB", "100 TiB"), (200 * 1024**3, "binary", "200 GiB"),
    (0, "s", "0 s"), (12, "s", "12 s"), (0.25, "s", "0.2 s"), (100, "s", "1 min 40 s"), (3600, "s", "1 h"),
    (9600, "s", "2 h 40 min"), (86399.6, "s", "1 d"), (160000, "s", "1 d 20 h"), (-9600, "s", "-2 h 40 min"),
    (1, "jobs", "1 job"), (0, "jobs", "0 jobs"), (2001, "jobs", "2,001 jobs"), (2.5, "jobs", "2.5 jobs"),
    (1, "cores", "1 core"), (1, "files", "1 file"),
    (0.6, "part of the files", "60 %"), (1 / 3, "part of the input", "33.3 %"),
    (600, "kB/s per core", "600 kB/s per core"), (864000, "HS06 s", "864,000 HS06 s"),
    (-1, "closeness", "-1"), (1.65, "weight", "1.65"), (1234.5, "weight", "1,234"), (math.inf, "jobs", "unlimited"),
])
def test_a_figure_has_its_unit(number, unit, text):
    assert figure(number, unit) == text


@pytest.mark.parametrize(("says", "value", "limit", "sentence"), [
    pytest.param("{limit} free, {value} needed", 2e9, 1.8e9, "1.8 GB free, 2.0 GB needed", id="value and limit"),
    pytest.param("{value} free, more than {limit} needed", 2e9, 2e9, "2.0 GB free, more than 2.0 GB needed",
                 id="at the limit"),
    pytest.param("{limit} free, {value} needed", 2.0001e9, 2e9, "2.0000 GB free, 2.0001 GB needed",
                 id="as many digits as tell them apart"),
    pytest.param("weight {value:plain}, the last has {limit:plain}", 0.5, math.nan, "weight 0.5",
                 id="a clause without its figure is left out"),
    pytest.param("{value} needed, limit {limit}", None, 2e9, "limit 2.0 GB", id="the first clause as well"),
    pytest.param("", 2e9, 1e9, "2.0 GB, limit 1.0 GB", id="a rule without words"),
    pytest.param("", None, None, "", id="a rule without words and figures"),
    pytest.param("{text}", None, None, "", id="a name that is not known"),
])
def test_a_sentence_has_the_figures_that_are_known(says, value, limit, sentence):
    assert worded(says, "bytes", value, limit) == sentence


def test_a_sentence_can_name_what_is_no_figure_whatever_it_has_in_it():
    assert worded("sub-policy {text}", "", None, None, '"type={any}:0%", x') == 'sub-policy "type={any}:0%", x'
    assert worded("{text}, none started for {value}", "s", 9600, 7200, "5 activated jobs") == (
        "5 activated jobs, none started for 2 h 40 min")


@given(st.sampled_from([*(set(FORMS) - {"plain", "binary"}), *COUNTED, "part of the input"]),
       st.floats(0, 1e14), st.floats(1e-3, 10))
def test_figures_that_differ_read_differently(unit, limit, further):
    value = limit + further * max(1.0, limit) * 1e-6
    sentence = worded("{value} against {limit}", unit, value, limit)
    assert sentence.split(" against ")[0] != sentence.split(" against ")[1]


@given(st.floats(0, 1e9))
def test_a_duration_is_the_time_to_its_smallest_unit(seconds):
    sizes = {"d": 86400, "h": 3600, "min": 60, "s": 1}
    words = duration(seconds, 3).split()
    told = sum(float(number) * sizes[unit] for number, unit in zip(words[::2], words[1::2], strict=True))
    assert told == pytest.approx(seconds, abs=0.51)


def test_rules_that_share_a_tag_have_their_names_beside_it():
    names = ["not_open", "too_little_scratch_deployed", "too_little_space_deployed"]
    assert labels(names, ["-status", "-disk", "-disk"]) == [
        "-status", "-disk (too little scratch)", "-disk (too little space)"]
