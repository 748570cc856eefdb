"""Space and statuses of storages: boundaries, satellites and nuclei."""

import numpy as np
import pytest
from builders import broker_hint
from policy_builders import candidate, cfg, queues, stats, task

from simgrid_broker.policy.brokerage.production import storage
from simgrid_broker.policy.brokerage.production.broker import broker_jobs
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION
from simgrid_broker.views import InputDataset, Locality, Source

EDITIONS = ("documented", "deployed")
GB, GIB = 1e9, 1024**3
SPACE = (storage.too_little_space, storage.too_little_space_deployed)


def refused(rules, data=None, config=(), **columns):
    """What each edition's rule says of a queue at a storage."""
    rules = rules if isinstance(rules, tuple) else (rules, rules)
    numbers = stats(1, **{name: [value] for name, value in columns.items()})
    return tuple(bool(rule(*candidate(task(), queues(1), numbers, data, cfg(**dict(config)), edition))[0])
                 for rule, edition in zip(rules, EDITIONS, strict=True))


@pytest.mark.rule("storage.too_little_space", "too_little_space_deployed")
@pytest.mark.parametrize(("columns", "expected"), [
    pytest.param(dict(free_bytes=200 * GB, usable_bytes=200 * GIB), (True, False), id="D73 at the limit"),
    pytest.param(dict(free_bytes=200 * GB + 1, usable_bytes=200 * GIB - 1), (False, True),
                 id="D73 a byte away from it"),
    pytest.param(dict(free_bytes=100 * GB, usable_bytes=900 * GIB), (True, False),
                 id="D73 what is expired is usable, not free"),
    pytest.param(dict(free_bytes=900 * GB, usable_bytes=100 * GIB), (False, True),
                 id="D73 what must stay free is free, not usable"),
    pytest.param(dict(free_bytes=0, usable_bytes=0, present=False), (False, False), id="a site without storage passes"),
])
def test_space(columns, expected):
    assert refused(SPACE, **columns) == expected


@pytest.mark.rule("storage.too_little_space", "too_little_space_deployed")
def test_d73_only_the_code_has_a_key_for_the_space_and_its_0_means_200():
    little = dict(free_bytes=250 * GB, usable_bytes=250 * GIB)
    assert refused(SPACE, config=dict(jobbroker={"STORAGE_MIN_FREE_SIZE": 300}), **little) == (False, True)
    none = dict(free_bytes=150 * GB, usable_bytes=150 * GIB)
    assert refused(SPACE, config=dict(jobbroker={"STORAGE_MIN_FREE_SIZE": 0}), **none) == (True, True)


@pytest.mark.rule("storage.too_little_space", "too_little_space_deployed")
def test_figures_of_too_little_space():
    at = candidate(task(), queues(1), stats(1, free_bytes=[5 * GB], usable_bytes=[7 * GB]))
    assert storage.too_little_space(*at) == (True, 5 * GB, 200 * GB)
    assert storage.too_little_space_deployed(*at) == (True, 7 * GB, 200 * GIB)


@pytest.mark.rule("not_readable", "not_writable")
@pytest.mark.parametrize(("rule", "flag"), [
    (storage.not_readable, "read_lan"), (storage.not_writable, "write_lan")])
def test_jobs_read_and_write_their_storage_everywhere(rule, flag):
    assert refused(rule, **{flag: True}) == (False, False)
    assert refused(rule, **{flag: False}) == (True, True)
    assert refused(rule, **{flag: False}, in_nucleus=True) == (True, True)
    assert refused(rule, **{flag: False}, present=False) == (False, False)


@pytest.mark.rule("receives_nothing", "sends_nothing")
@pytest.mark.parametrize(("rule", "flag"), [
    (storage.receives_nothing, "write_wan"), (storage.sends_nothing, "read_wan")])
def test_only_satellites_receive_input_and_send_output(rule, flag):
    assert refused(rule, **{flag: True}) == (False, False)
    assert refused(rule, **{flag: False}) == (True, True)
    assert refused(rule, **{flag: False}, in_nucleus=True) == (False, False)
    assert refused(rule, **{flag: False}, sharing=True) == (True, True)
    assert refused(rule, **{flag: False}, present=False) == (False, False)


def replicas(*parts, wan=None):
    """Input of 100 bytes with such parts on disk, site by site; wan: which of the storages send files."""
    held, sends = np.array(parts, float), wan or (True,) * len(parts)
    sources = tuple(Source(f"SITE_{k}", part, 10 * (1 - part), True, sends[k]) for k, part in enumerate(parts))
    return Locality(100.0, 10, held, held, held, held, None, bool((held >= 1).any()), (InputDataset("in", sources),))


@pytest.mark.rule("receives_nothing")
@pytest.mark.parametrize(("parts", "expected"), [
    pytest.param((1.0, 0.0), (False, False), id="the nucleus has a complete replica"),
    pytest.param((0.5, 1.0), (False, True), id="only another site has: the code wants it to receive"),
    pytest.param((0.5, 0.9), (False, False), id="nobody has"),
])
def test_a_nucleus_that_lacks_the_input_must_receive_it_in_the_code(parts, expected):
    numbers = stats(2, write_wan=[False, True], in_nucleus=[True, False])
    found = tuple(bool(storage.receives_nothing(*candidate(
        task(), queues(2), numbers, replicas(*parts), edition=edition))[0]) for edition in EDITIONS)
    assert found == expected


@pytest.mark.rule("input_cannot_be_sent")
@pytest.mark.parametrize(("parts", "wan", "expected"), [
    pytest.param((0, 1, 0), (True, False, True), [True, True, False],
                 id="the only source sends nothing: the nucleus alone may take the jobs"),
    pytest.param((0, 1, 1), (True, False, True), [False, False, False], id="another source does"),
    pytest.param((0, 1, 0.95), (True, False, True), [False] * 3, id="so does one that is nearly complete"),
    pytest.param((0, 1, 0), (True, True, True), [False] * 3, id="the source sends"),
])
def test_somebody_must_send_the_input_in_the_code(parts, wan, expected):
    numbers = stats(3, in_nucleus=[False, False, True])
    found = [bool(storage.input_cannot_be_sent(*candidate(
        task(), queues(3), numbers, replicas(*parts, wan=wan), edition="deployed", k=k))[0]) for k in range(3)]
    assert found == expected


@pytest.mark.parametrize(("columns", "tag"), [
    pytest.param(dict(read_lan=[False], write_lan=[False]), "-read_lan_blacklist", id="the first test that fails"),
    pytest.param(dict(write_lan=[False], write_wan=[False]), "-write_lan_blacklist", id="the second"),
    pytest.param(dict(write_wan=[False], read_wan=[False]), "-write_wan_blacklist", id="the third"),
    pytest.param(dict(read_wan=[False]), "-read_wan_blacklist", id="the fourth"),
])
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_first_status_that_is_bad_names_the_refusal(columns, tag, edition):
    verdict = broker_jobs(task(), queues(1), stats(1, **columns), None, cfg(), edition)
    assert verdict.tags[verdict.refused_by[0]] == tag


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_hint_is_about_queues_of_nuclei(edition):
    numbers = stats(2, in_nucleus=True, read_wan=[False, True], write_wan=[False, True], read_lan=[True, False])
    assert broker_hint(PRODUCTION[edition], task(), queues(2), numbers, cfg()).tolist() == [True, False]
