"""Tasks that read much, the nucleus they stay at, and full chains."""

import numpy as np
import pytest
from builders import broker_hint
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_builders import candidate, cfg, queues, stats, task

from simgrid_broker.names import BareNucleus, FullChain
from simgrid_broker.policy.brokerage.production import network, storage
from simgrid_broker.policy.brokerage.production.broker import broker_jobs
from simgrid_broker.policy.brokerage.production.editions import DEPLOYED, DOCUMENTED, PRODUCTION
from simgrid_broker.views import KEPT, Locality

EDITIONS = ("documented", "deployed")
GB, GIB = 1e9, 1024**3
HEAVY = dict(iointensity=201.0)


def data(total, missing, files=0, missing_files=0, tape=None, tape_files=None):
    """Input of a task: what is missing on disk, and on disk and tape, at each site; bytes and files."""
    tape, tape_files = missing if tape is None else tape, missing_files if tape_files is None else tape_files
    bytes_, numbers = max(total, 1e-300), max(files, 1)
    parts = np.broadcast_arrays(*(np.atleast_1d(np.asarray(part, float))
                                  for part in (missing, missing_files, tape, tape_files)))
    return Locality(total, files, *(1 - part / whole for part, whole in
                                    zip(parts, (bytes_, numbers, bytes_, numbers), strict=True)))


def moved_too_much(input_, fields=HEAVY, **config):
    at = candidate(task(**fields), queues(1), stats(1), input_, cfg(**config))
    return bool(storage.too_much_to_move(*at)[0])


def class_of(input_, fields=HEAVY, **config):
    return int(storage.io_class(*candidate(task(**fields), queues(1), stats(1), input_, cfg(**config), "deployed")))


@pytest.mark.rule("too_much_to_move", "io_class")
@pytest.mark.parametrize(("gigabytes", "documented", "deployed"), [
    pytest.param(9.999, False, 0, id="less than the cutoff"),
    pytest.param(10.0, True, 0, id="D28 10 GB is too much as documented"),
    pytest.param(10.737418240, True, 0, id="D28 10 GiB are still fine in the code"),
    pytest.param(10.738466, True, 0, id="and as many whole MiB"),
    pytest.param(10.7385, True, 2, id="a MiB more is not"),
])
def test_size(gigabytes, documented, deployed):
    input_ = data(100 * GB, gigabytes * GB)
    assert (moved_too_much(input_), class_of(input_)) == (documented, deployed)


@pytest.mark.rule("too_much_to_move", "io_class")
@pytest.mark.parametrize(("files", "documented", "deployed"), [
    pytest.param(99, False, 0, id="less than the cutoff"),
    pytest.param(100, True, 0, id="D28 as many as the cutoff"),
    pytest.param(101, True, 2, id="more"),
])
def test_number(files, documented, deployed):
    input_ = data(GB, 0.0, 1000, files)
    assert (moved_too_much(input_), class_of(input_)) == (documented, deployed)


@pytest.mark.rule("too_much_to_move", "io_class")
@pytest.mark.parametrize(("fields", "documented", "deployed"), [
    pytest.param(dict(iointensity=200.0), False, 0, id="ioIntensity at the cutoff"),
    pytest.param(dict(iointensity=200.1), True, 2, id="above it"),
    pytest.param(dict(HEAVY, is_merging=True), True, 0, id="the code spares merging"),
    pytest.param(dict(HEAVY, preassigned=(0,)), True, 0, id="and a task that names its queue"),
    pytest.param(dict(HEAVY, event_service=True), True, 0, id="and event service"),
])
def test_whom_it_concerns(fields, documented, deployed):
    input_ = data(100 * GB, 50 * GB)
    assert (moved_too_much(input_, fields), class_of(input_, fields)) == (documented, deployed)


@pytest.mark.rule("too_much_to_move", "io_class")
def test_files_of_no_size_are_no_input():
    empty = data(0, 0, 100, 100)
    assert (moved_too_much(empty), class_of(empty)) == (False, 0)


@pytest.mark.rule("too_much_to_move", "io_class")
def test_many_files_of_one_byte_are_input():
    tiny = data(1, 0, 200, 101)
    assert (moved_too_much(tiny), class_of(tiny)) == (True, 2)


@pytest.mark.rule("too_much_to_move", "io_class")
def test_cutoffs_come_from_gdpconfig():
    keys = {"IO_INTENSITY_CUTOFF": 300, "SIZE_CUTOFF_TO_MOVE_INPUT": 60, "NUM_CUTOFF_TO_MOVE_INPUT": 5}
    input_ = data(100 * GB, 50 * GB, 10, 4)
    assert not moved_too_much(input_, dict(iointensity=301.0), jobbroker=keys)
    assert moved_too_much(data(100 * GB, 50 * GB, 10, 5), dict(iointensity=301.0), jobbroker=keys)
    assert class_of(data(100 * GB, 50 * GB, 10, 6), dict(iointensity=301.0), jobbroker=keys) == 2
    assert class_of(data(100 * GB, 50 * GB, 10, 6), dict(iointensity=300.0), jobbroker=keys) == 0


@pytest.mark.rule("io_class")
@pytest.mark.parametrize(("missing", "tape", "expected"), [
    pytest.param(50, 50, 2, id="neither on disk nor on tape"), pytest.param(50, 0, 1, id="on tape alone"),
    pytest.param(0, 0, 0, id="on disk"),
    pytest.param(50, 10.738466, 1, id="as many whole MiB as the cutoff on neither"),
    pytest.param(50, 10.7385, 2, id="a MiB more on neither"),
])
def test_d28_classes_of_the_code(missing, tape, expected):
    assert class_of(data(100 * GB, missing * GB, tape=tape * GB)) == expected


@pytest.mark.rule("io_class")
@pytest.mark.parametrize(("missing", "tape", "expected"), [
    pytest.param(500, 100, 1, id="100 on neither"), pytest.param(500, 101, 2, id="101 on neither"),
    pytest.param(100, 0, 0, id="100 not on disk"), pytest.param(101, 0, 1, id="101 on tape alone"),
])
def test_d28_classes_by_the_number_of_files(missing, tape, expected):
    assert class_of(data(GB, 0.0, 1000, missing, tape_files=tape)) == expected


def kept(edition, input_, fields=HEAVY, n=3, config=(), queue=(), **columns):
    """Which queues are left, and the tag of each of the others."""
    verdict = broker_jobs(task(**fields), queues(n, **dict(queue)), stats(n, **columns), input_, cfg(**dict(config)),
                          edition)
    return [None if k == KEPT else verdict.tags[k] for k in verdict.refused_by]


DISK_TAPE_NONE = data(100 * GB, [0.0, 50 * GB, 50 * GB], tape=[0.0, 0.0, 50 * GB])


@pytest.mark.rule("choose")
def test_d28_the_code_prefers_disk_to_tape_to_nothing():
    assert kept("deployed", DISK_TAPE_NONE) == [None, "-io", "-io"]
    assert kept("deployed", DISK_TAPE_NONE, queue=dict(corecount=[8, 1, 1])) == ["-cpucore", None, "-io"]
    assert kept("deployed", DISK_TAPE_NONE, queue=dict(corecount=[8, 8, 1])) == ["-cpucore", "-cpucore", None]
    verdict = broker_jobs(task(**HEAVY), queues(3), stats(3), DISK_TAPE_NONE, cfg(), "deployed")
    assert [column[1:].tolist() for column in (verdict.weight, verdict.queued, verdict.cap)] == [[0, 0]] * 3


def test_d28_as_documented_tape_is_at_hand_and_nobody_may_be_left():
    assert kept("documented", DISK_TAPE_NONE) == [None, None, "-io"]
    assert kept("documented", data(100 * GB, [50 * GB] * 3)) == ["-io"] * 3


def test_d18_a_queue_that_is_bad_for_a_while_still_holds_the_data_in_the_code():
    """The queue with the data on disk has no pilots: the code waits for it, as documented another one is used."""
    columns = dict(n_pilot=[0, 1, 1])
    assert kept("deployed", DISK_TAPE_NONE, **columns) == ["-nopilot", "-io", "-io"]
    assert kept("documented", DISK_TAPE_NONE, **columns) == ["-nopilot", None, "-io"]


def test_d18_place_of_the_data_motion_in_the_chain():
    names = {edition.edition: [rule.__name__ for rule in edition.funnel.criteria] for edition in (DOCUMENTED, DEPLOYED)}
    documented, deployed = names["documented"], names["deployed"]
    assert documented.index("too_much_to_move") < documented.index("disk_io") < documented.index("no_pilots")
    assert deployed.index("no_pilots") < deployed.index("io_class") < deployed.index("over_cap")


def test_a_full_queue_holds_the_data_as_well_in_the_code():
    found = kept("deployed", DISK_TAPE_NONE, running=[1, 1, 1], activated=[99, 0, 0])
    assert found == ["-cap", "-io", "-io"]


@pytest.mark.rule("choose")
@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0, 50]), st.sampled_from([0, 50]), st.booleans()), min_size=1, max_size=8))
def test_the_choice_refuses_all_but_the_best_class(sites):
    disk = np.array([max(a, b) for a, b, _ in sites]) * GB
    tape = np.array([min(a, b) for a, b, _ in sites]) * GB
    cores = [1 if fits else 8 for _, _, fits in sites]
    found = kept("deployed", data(100 * GB, disk, tape=tape), n=len(sites), queue=dict(corecount=cores))
    classes = [0 if a + b == 0 else 1 if min(a, b) == 0 else 2 for a, b, _ in sites]
    best = min((c for c, (*_, fits) in zip(classes, sites, strict=True) if fits), default=2)
    for tag, class_, (*_, fits) in zip(found, classes, sites, strict=True):
        assert tag == ("-cpucore" if not fits else None if class_ <= best else "-io")


@pytest.mark.rule("too_intense")
@pytest.mark.parametrize(("intensity", "fields", "expected"), [
    pytest.param(500, {}, False, id="at the limit"), pytest.param(501, {}, True, id="above it"),
    pytest.param(501, dict(is_merging=True), False, id="merging is spared"),
])
def test_max_io_intensity(intensity, fields, expected):
    view = queues(1, max_io_intensity=[500.0])
    at = candidate(task(iointensity=intensity, **fields), view, stats(1), edition="deployed")
    assert bool(storage.too_intense(*at)[0]) is expected


def test_d23_only_the_code_knows_max_io_intensity():
    view = dict(max_io_intensity=[500.0])
    heavy = dict(iointensity=900.0)
    assert kept("documented", None, heavy, n=1, queue=view) == [None]
    assert kept("deployed", None, heavy, n=1, queue=view) == ["-max_io_intensity"]


@pytest.mark.rule("not_local")
@pytest.mark.parametrize(("local_only", "missing", "expected"), [
    pytest.param(True, 1, "-non_local", id="a byte is missing"), pytest.param(True, 0, None, id="all is local"),
    pytest.param(False, 1, None, id="any other queue"),
])
def test_use_only_local_data(local_only, missing, expected):
    view = dict(use_only_local_data=[local_only])
    assert kept("deployed", data(100.0, float(missing)), {}, n=1, queue=view) == [expected]
    assert kept("documented", data(100.0, float(missing)), {}, n=1, queue=view) == [None]


@pytest.mark.rule("too_much_to_move", "too_intense", "not_local")
def test_figures_of_a_refusal():
    view = queues(1, use_only_local_data=[True], max_io_intensity=[500.0])
    at = candidate(task(iointensity=501.0), view, stats(1), data(100 * GB, 50 * GB))
    assert storage.too_much_to_move(*at) == (True, 50_000, 10_000)
    assert storage.too_intense(*at) == (True, 501, 500)
    assert storage.not_local(*at) == (True, 0.5, 1)


# ---- t1Weight ------------------------------------------------------------------------------------------------------

def at_nucleus(rule, fields, **link):
    """Answer of a rule about a queue in each edition."""
    columns = {name: [value] for name, value in link.items()}
    return tuple(rule(*candidate(task(**dict(nucleus=0) | fields), queues(1), stats(1, **columns), edition=edition))
                 for edition in EDITIONS)


@pytest.mark.rule("off_nucleus")
@pytest.mark.parametrize(("fields", "link", "documented", "deployed"), [
    pytest.param(dict(t1weight=-1), {}, True, True, id="a satellite"),
    pytest.param(dict(t1weight=-1), dict(in_nucleus=True), False, False, id="the nucleus"),
    pytest.param(dict(t1weight=-1), dict(sharing=True), True, False, id="D72 a queue that shares its storage"),
    pytest.param(dict(t1weight=-2), {}, False, True, id="D72 any negative value in the code"),
    pytest.param(dict(t1weight=-1, is_merging=True), {}, False, False, id="merging"),
    pytest.param(dict(t1weight=0), {}, False, False, id="not set"),
    pytest.param(dict(t1weight=-1, nucleus=-1), {}, False, False, id="there is no nucleus"),
])
def test_who_stays_at_the_nucleus(fields, link, documented, deployed):
    found = at_nucleus(network.off_nucleus, fields, **link)
    assert tuple(bool(refused) for refused, *_ in found) == (documented, deployed)


@pytest.mark.rule("t1_value", "t1weight")
@pytest.mark.parametrize(("fields", "documented", "deployed"), [
    pytest.param({}, 1, 1, id="not set"),
    pytest.param(dict(t1weight=7), 7, 7, id="set"),
    pytest.param(dict(t1weight=-1), 1, 1, id="staying there weighs nothing"),
    pytest.param(dict(iointensity=499.0), 1, 1, id="below 500 kB/s"),
    pytest.param(dict(iointensity=500.0), 4, 1, id="D22 at 500 kB/s"),
    pytest.param(dict(iointensity=501.0), 4, 4, id="D22 above 500 kB/s"),
    pytest.param(dict(iointensity=501.0, t1weight=2), 2, 2, id="what is set stands before it"),
    pytest.param(dict(currentpriority=899, t1weight=2), 2, 2, id="below priority 900"),
    pytest.param(dict(currentpriority=900, t1weight=2), 100, 100, id="D21 from 900 on"),
    pytest.param(dict(currentpriority=900, t1weight=200), 200, 200, id="no more than is set"),
    pytest.param(dict(is_scout=True), 1, 100, id="D21 scouts in the code"),
    pytest.param(dict(currentpriority=900, event_service=True), 100, 1, id="D21 event service not in the code"),
])
def test_weight_of_the_nucleus(fields, documented, deployed):
    assert at_nucleus(network.t1weight, fields, in_nucleus=True) == (documented, deployed)
    assert at_nucleus(network.t1weight, fields) == (1, 1)
    assert at_nucleus(network.t1weight, fields | dict(nucleus=-1), in_nucleus=True) == (1, 1)


@pytest.mark.rule("t1weight")
def test_d72_who_shares_the_storage_weighs_as_much_in_the_code():
    assert at_nucleus(network.t1weight, dict(t1weight=7), sharing=True) == (1, 7)


# ---- full chain ----------------------------------------------------------------------------------------------------

CHAIN = dict(nucleus=0, fullchain=FullChain.CAPABLE, nucleus_bare=BareNucleus.ALLOW)


@pytest.mark.rule("network.off_the_chain", "for_full_chains_only")
@pytest.mark.parametrize(("fields", "expected"), [
    pytest.param(CHAIN, [None, "-full_chain", "-full_chain"], id="D36 a full chain at a bare nucleus stays there"),
    pytest.param(CHAIN | dict(fullchain=FullChain.ONLY), [None, "-full_chain", "-full_chain"], id="whatever its kind"),
    pytest.param(CHAIN | dict(nucleus_bare=BareNucleus.NO), [None, None, "-not_full_chain"],
                 id="D36 a capable task at a normal nucleus is a normal task"),
    pytest.param(dict(nucleus=0, nucleus_bare=BareNucleus.ALLOW), [None, None, "-not_full_chain"],
                 id="D35 a normal task at a bare nucleus goes to satellites, too"),
    pytest.param(dict(nucleus=-1), [None, None, None], id="a task without nucleus goes anywhere"),
])
@pytest.mark.parametrize("edition", EDITIONS)
def test_full_chain(fields, expected, edition):
    bare = np.array([BareNucleus.ALLOW, BareNucleus.NO, BareNucleus.ONLY], np.int8)
    found = kept(edition, None, fields, queue=dict(bare_nucleus=bare), in_nucleus=[True, False, False])
    assert found == expected


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_hint_leaves_out_what_needs_a_nucleus_or_input(edition):
    """The same task is asked about with input before: the hint does not remember it."""
    view = queues(2, bare_nucleus=np.array([2, 0], np.int8), use_only_local_data=[True, True])
    asked = task(nucleus=0, t1weight=-1, **HEAVY)
    broker_jobs(asked, view, stats(2), data(100 * GB, [50 * GB] * 2), cfg(), edition)
    assert broker_hint(PRODUCTION[edition], asked, view, stats(2, in_nucleus=True), cfg()).all()
