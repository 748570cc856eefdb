import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker import units


@pytest.mark.parametrize(("parse", "value", "expected"), [
    pytest.param(units.seconds, 90, 90.0, id="a bare number is in the unit of the parser"),
    pytest.param(units.seconds, "90", 90.0, id="so is a bare number as text"),
    pytest.param(units.seconds, "1e3", 1000.0, id="an exponent needs no unit"),
    pytest.param(units.seconds, "72h", 259200.0, id="a unit may follow at once"),
    pytest.param(units.seconds, "30 min", 1800.0, id="or after a blank"),
    pytest.param(units.seconds, " 2 days ", 172800.0, id="blanks around do not matter"),
    pytest.param(units.seconds, "1_000 s", 1000.0, id="an underscore groups digits"),
    pytest.param(units.seconds, "-5 min", -300.0, id="limits are not the business of a parser"),
    pytest.param(units.minutes, 60, 60.0, id="minutes stay minutes"),
    pytest.param(units.minutes, "90", 90.0, id="also as text"),
    pytest.param(units.minutes, "2 h", 120.0, id="hours become minutes"),
    pytest.param(units.bytes_, "10 GB", 1e10, id="GB is a power of 1000"),
    pytest.param(units.bytes_, "1.5 GiB", 1.5 * 2**30, id="GiB is a power of 1024"),
    pytest.param(units.bytes_, ".5kB", 500.0, id="kB and no leading zero"),
    pytest.param(units.megabytes, 4000, 4000.0, id="memory is in MB"),
    pytest.param(units.megabytes, "16 GB", 16000.0, id="16 GB are 16000 MB"),
    pytest.param(units.megabytes, "-1", -1.0, id="a sentinel passes"),
    pytest.param(units.bytes_per_second, "30 MB/s", 3e7, id="bytes per second"),
    pytest.param(units.bytes_per_second, "40 Gb/s", 5e9, id="a small b is a bit"),
    pytest.param(units.bytes_per_second, "10Gbps", 1.25e9, id="bps are bits per second"),
    pytest.param(units.bytes_per_second, "2 TB/day", 2e12 / 86400, id="per day"),
    pytest.param(units.fraction, "5%", 0.05, id="a percentage"),
    pytest.param(units.fraction, "7 %", 0.07, id="exact to the last bit"),
    pytest.param(units.fraction, 0.3, 0.3, id="a fraction"),
])
def test_what_is_understood(parse, value, expected):
    assert parse(value) == expected


@pytest.mark.parametrize(("parse", "value", "says"), [
    pytest.param(units.bytes_, "10 parsecs", "'10 parsecs' is not a size; write a number of bytes or text such as "
                 "'10 GB'", id="a unit of something else"),
    pytest.param(units.bytes_, "10 Gb", "is not a size", id="bits are no size"),
    pytest.param(units.bytes_, "10 gb", "is not a size", id="case counts, because b and B differ"),
    pytest.param(units.bytes_, "GB", "is not a size", id="no number"),
    pytest.param(units.bytes_, "1__0 B", "is not a size", id="two underscores"),
    pytest.param(units.bytes_per_second, "10 GB", "is not a rate", id="a size is no rate"),
    pytest.param(units.bytes_per_second, "10 GB/parsec", "is not a rate", id="per something else"),
    pytest.param(units.seconds, "3 GB", "is not a time", id="a size is no time"),
    pytest.param(units.seconds, "", "is not a time", id="nothing"),
    pytest.param(units.seconds, None, "None is not a time", id="null"),
    pytest.param(units.seconds, True, "True is not a time", id="a truth is no number"),
    pytest.param(units.seconds, [1], "is not a time", id="a list"),
    pytest.param(units.seconds, math.inf, "inf is not a time", id="infinity"),
    pytest.param(units.seconds, math.nan, "nan is not a time", id="not a number"),
    pytest.param(units.seconds, "1e999", "is not a time", id="too large for a float"),
    pytest.param(units.seconds, 10**400, "is not a time", id="too large an integer"),
    pytest.param(units.fraction, "5 h", "is not a fraction", id="a time is no fraction"),
    pytest.param(units.seconds, "١ h", "is not a time", id="digits of another alphabet"),
])
def test_what_is_refused(parse, value, says):
    with pytest.raises(ValueError, match="write a number") as caught:
        parse(value)
    assert says in str(caught.value)


@pytest.mark.parametrize(("write", "value", "text"), [
    pytest.param(units.format_seconds, 0, "0 s", id="nothing"),
    pytest.param(units.format_seconds, 59.9, "59.9 s", id="just below a minute"),
    pytest.param(units.format_seconds, 60, "1 min", id="a minute"),
    pytest.param(units.format_seconds, 5400, "1.5 h", id="hours"),
    pytest.param(units.format_seconds, 97_200, "1 d 3 h", id="days and hours"),
    pytest.param(units.seconds, "1 d 3 h", 97_200, id="several units"),
    pytest.param(units.format_seconds, 1e9, "11574 d", id="no exponent"),
    pytest.param(units.format_seconds, math.inf, "inf s", id="without end"),
])
def test_how_it_is_written(write, value, text):
    assert write(value) == text


@given(st.floats(-1e18, 1e18, allow_nan=False))
def test_what_is_written_can_be_read(value):
    assert units.seconds(units.format_seconds(value)) == pytest.approx(value, rel=1e-3, abs=1e-3)


@given(st.integers(-10**15, 10**15), st.sampled_from(sorted(units.SIZE_UNITS)))
def test_a_number_with_a_unit_is_the_product(number, unit):
    assert units.bytes_(f"{number} {unit}") == number * units.SIZE_UNITS[unit]


@given(st.text())
def test_any_text_is_read_or_refused_with_a_sentence(text):
    for parse in (units.seconds, units.minutes, units.bytes_, units.megabytes, units.bytes_per_second, units.fraction):
        try:
            assert math.isfinite(parse(text))
        except ValueError as error:
            assert "; write a number" in str(error)


@pytest.mark.parametrize(("written", "part"), [
    pytest.param(True, 1.0, id="all"), pytest.param(False, 0.0, id="none"),
    pytest.param("1%", 0.01, id="a percentage"), pytest.param(0.5, 0.5, id="a number"),
])
def test_a_sample_is_a_fraction_or_all_or_none(written, part):
    assert units.sample(written) == part


def test_a_word_is_no_sample():
    with pytest.raises(ValueError, match="'yes' is not a fraction"):
        units.sample("yes")
