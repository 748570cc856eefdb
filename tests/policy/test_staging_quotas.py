"""Which requests of the data carousel start: quotas of tapes, fair parts of shares, pins, destinations, sources."""

import pytest

from simgrid_broker.gdpconfig import carousel_config
from simgrid_broker.gdpconfig.carousel_config import Config, RseConfig, TapeConfig
from simgrid_broker.policy.tasks import data_carousel as carousel
from simgrid_broker.policy.tasks.data_carousel import (
    Endpoint,
    Waiting,
    claim,
    destination,
    files_in_staging,
    is_refreshed,
    portions,
    quota,
    source,
)
from simgrid_broker.units import DAY, HOUR, TB

A, B = 0, 1


def ask(number, files, share=A, rank=None, priority=500, luck=0.5, to_pin=False):
    """A queued request."""
    return Waiting(number, share, share if rank is None else rank, priority, files, luck, to_pin)


@pytest.mark.rule("quota")
@pytest.mark.parametrize(("staging", "left"), [(0, 10_000), (9_999, 1), (10_000, 0), (12_000, -2_000)])
def test_the_quota_is_what_is_not_staging_yet(staging, left):
    assert quota(TapeConfig(), {A: staging - 1000, B: 1000}) == left


@pytest.mark.rule("files_in_staging")
def test_requests_to_pin_do_not_count_for_the_quota():
    assert files_in_staging([(A, 7, False), (A, 5, False), (B, 3, True), (B, None, False)]) == {A: 12, B: 0}


@pytest.mark.rule("data_carousel.claim")
@pytest.mark.parametrize(("rank", "current", "submitted", "counts_for"), [
    pytest.param(3, 500, 900, (3, -500), id="the current priority"),
    pytest.param(3, None, 900, (3, -900), id="without one the submitted one"),
    pytest.param(3, 0, 900, (3, -1000), id="0 is a priority, and counts as none"),
    pytest.param(None, None, None, (999, -1000), id="neither priority nor place in the list"),
])
def test_what_a_task_counts_for(rank, current, submitted, counts_for):
    assert claim(A, rank, current, submitted) == (*counts_for, A)


@pytest.mark.rule("to_stage")
@pytest.mark.parametrize(("most", "started"), [
    pytest.param(-1, [], id="overdrawn"), pytest.param(0, [], id="used up"),
    pytest.param(1, [1], id="one may exceed the quota"), pytest.param(10, [1], id="and may reach it"),
    pytest.param(11, [1, 2], id="below it the next one starts"),
    pytest.param(30, [1, 2, 3], id="reached with the last"),
    pytest.param(31, [1, 2, 3], id="more than all"),
])
def test_requests_start_below_the_quota_and_one_more(most, started):
    assert carousel.to_stage([ask(3, 10), ask(1, 10), ask(2, 10)], most, {}) == started


@pytest.mark.rule("to_stage")
def test_requests_go_by_share_priority_and_number():
    asked = [ask(1, 1, share=B), ask(2, 1, priority=400), ask(3, 1, priority=600), ask(4, 1, priority=600)]
    assert carousel.to_stage(asked, 100, {}) == [3, 4, 2, 1]


@pytest.mark.rule("to_stage")
def test_behind_requests_to_pin_those_without_files_start_with_the_last_one():
    asked = [ask(1, 10), ask(2, 0), ask(3, 0), ask(4, 1)]
    assert carousel.to_stage(asked, 10, {}) == [1]
    assert carousel.to_stage([*asked, ask(5, 9, to_pin=True)], 10, {}) == [5, 1, 2, 3]
    assert carousel.to_stage([ask(2, 0), ask(5, 9, to_pin=True)], 0, {}) == [5]


@pytest.mark.rule("to_stage")
def test_requests_to_pin_start_whatever_the_quota():
    assert carousel.to_stage([ask(1, 5), ask(2, 5, to_pin=True)], 0, {}) == [2]


@pytest.mark.rule("fair_first")
def test_each_share_that_waits_gets_the_same_part_first():
    asked = [ask(1, 40), ask(2, 40), ask(3, 40), ask(4, 40, share=B), ask(5, 40, share=B)]
    assert [one.number for one in carousel.fair_first(asked, 100, {})][:2] == [1, 4]       # 50 files each
    assert carousel.to_stage(asked, 100, {}) == [1, 4, 2]                                   # and one that exceeds it


@pytest.mark.rule("fair_first")
@pytest.mark.parametrize(("staging", "first"), [
    pytest.param(0, [1, 2], id="nothing staged: each share's request fits its 50 files"),
    pytest.param(10, [1, 2], id="10 staged and 40 asked are 50"),
    pytest.param(11, [2, 1], id="51 do not fit; the rest of the quota follows"),
    pytest.param(99, [2, 1], id="just below the part of all, (100 + 99) // 2"),
    pytest.param(100, [2, 1], id="at it: left out"),
])
def test_what_a_share_has_in_staging_counts_for_its_part(staging, first):
    assert [one.number for one in carousel.fair_first([ask(1, 40), ask(2, 40, share=B)], 100, {A: staging})] == first


@pytest.mark.rule("fair_first")
def test_one_request_of_a_share_that_would_get_nothing_is_drawn():
    asked = [ask(1, 10), ask(2, 90, share=1, luck=0.9), ask(3, 90, share=2, luck=0.1)]
    assert [one.number for one in carousel.fair_first(asked, 60, {})] == [1, 3, 2]
    assert carousel.to_stage(asked, 60, {}) == [1, 3]


@pytest.mark.rule("fair_first")
@pytest.mark.parametrize(("asked", "most", "staging", "order"), [
    pytest.param([], 100, {}, [], id="nothing"),
    pytest.param([ask(1, 1), ask(2, 1, share=B)], 0, {A: 1}, [1, 2], id="no quota: as they come"),
    pytest.param([ask(1, 1), ask(2, 0)], 0, {}, [1, 2], id="even those without files"),
    pytest.param([ask(1, 1), ask(3, 1), ask(2, 1, share=B)], 2, {}, [1, 2, 3], id="a file for each"),
    pytest.param([ask(1, 90), ask(2, 60, share=B)], 100, {}, [2, 1], id="none fits: the smallest sum comes first"),
    pytest.param([ask(1, 120, luck=0.1), ask(2, 100, share=B, luck=0.9)], 100, {}, [2, 1], id="which fills the quota"),
    pytest.param([ask(1, 10), ask(4, 90), ask(2, 90, share=B)], 60, {}, [1, 2, 4], id="B would get nothing"),
    pytest.param([ask(1, 50), ask(4, 10), ask(2, 49, share=B), ask(3, 1, share=B)], 100, {B: 1}, [1, 2, 3, 4],
                 id="one file is left"),
    pytest.param([ask(2, 40, share=B), ask(3, 70, share=B), ask(1, 10)], 101, {A: 100}, [2, 3, 1],
                 id="A has (101 + 100) // 2 in staging"),
    pytest.param([ask(1, 5000), ask(4, 5000), ask(2, 1, share=B), ask(3, 5000, share=B)], 20_000, {}, [1, 2, 4, 3],
                 id="10000 files are divided: 4999 are left"),
    pytest.param([ask(1, 5000), ask(4, 5000), ask(2, 1, share=B), ask(3, 4999, share=B)], 20_000, {}, [1, 2, 3, 4],
                 id="which 4999 files fill"),
])
def test_the_quota_is_divided_at_its_edges(asked, most, staging, order):
    assert [one.number for one in carousel.fair_first(asked, most, staging)] == order


RSES = (Endpoint("A_DATADISK", "DATADISK", True, 301 * TB, True, 0.4),
        Endpoint("B_DATADISK", "DATADISK", True, 400 * TB, True, 0.3),
        Endpoint("C_DATADISK", "DATADISK", False, 900 * TB, True, 0.2),
        Endpoint("D_SCRATCHDISK", "SCRATCHDISK", True, 900 * TB, True, 0.1))


@pytest.mark.rule("destination")
@pytest.mark.parametrize(("expression", "excluded", "found"), [
    (TapeConfig().destination_expression, (), "B_DATADISK"),
    (TapeConfig().destination_expression, ("B_DATADISK",), "A_DATADISK"),
    (TapeConfig().destination_expression, ("A_DATADISK", "B_DATADISK"), None),
    ("type=DATADISK&freespace>301", (), "C_DATADISK"), ("freespace<400", (), "A_DATADISK"),
    ("type=DATADISK\\C_DATADISK", (), "B_DATADISK"), ("D_SCRATCHDISK", (), "D_SCRATCHDISK"),
])
def test_data_goes_to_a_random_endpoint_that_matches(expression, excluded, found):
    assert destination(RSES, expression, frozenset(excluded)) == found
    assert destination([one._replace(available=False) for one in RSES], expression, frozenset()) is None


@pytest.mark.parametrize(("expression", "wrong"), [
    (TapeConfig().destination_expression, False), ("A_DATADISK", False), ("type=DATADISK|type=X", True),
    ("freespace=300", True), ("freespace>much", True), ("tier=1", True), ("type=", True), ("type=DATADISK&", True),
    ("type>DATADISK", True),
])
def test_conditions_that_cannot_be_read_are_named(expression, wrong):
    assert (carousel_config.problem(expression) is not None) == wrong


@pytest.mark.rule("source")
@pytest.mark.parametrize(("active", "rses", "found"), [
    (("CERN-PROD_TAPE", "A_TAPE", "B_TAPE"), {}, "A_TAPE"), (("CERN-PROD_TAPE", "B_TAPE"), {}, "B_TAPE"),
    (("CERN-PROD_TAPE",), {}, "CERN-PROD_TAPE"), ((), {}, "A_TAPE"),
    (("library",), {"B_TAPE": RseConfig("library")}, "B_TAPE"),
    (("library", "A_TAPE"), {"B_TAPE": RseConfig("library"), "A_TAPE": RseConfig("A_TAPE", False)}, "B_TAPE"),
])
def test_the_source_is_an_active_tape_and_not_cern_if_another_is(active, rses, found):
    config = Config({name: TapeConfig(True) for name in active}, rses)
    assert source({"CERN-PROD_TAPE": 0.1, "A_TAPE": 0.2, "B_TAPE": 0.3}, config) == found
    assert source({"CERN-PROD_TAPE": 0.1, "B_TAPE": 0.3, "A_TAPE": 0.2}, config) == found


@pytest.mark.rule("is_refreshed")
@pytest.mark.parametrize(("left", "refreshed"), [(2 * HOUR, False), (2 * HOUR + 1, True), (7 * DAY - 1, True),
                                                 (7 * DAY, False)])
def test_rules_are_refreshed_when_they_have_little_left(left, refreshed):
    assert is_refreshed(left) == refreshed


@pytest.mark.parametrize("files", [1, 19, 20, 21, 999])
def test_portions_are_even_and_all_files(files):
    found = portions(files)
    assert sum(found) == files and len(found) == min(files, 20) and max(found) - min(found) <= 1
