"""Problems and remarks of tape, drives, and the configuration of the data carousel."""

import pytest
from builders import scenario

from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario import remarks

TB = 1e12
DISK = dict(site="HERE", total=1000 * TB, free=500 * TB)
DATA = dict(datasets=dict(data=dict(files=10, bytes=TB, replicas=[dict(storage="TAPE")])))
STREAM = dict(name="mc", hs06sec_per_event=1, offered_cores=1, inputPreStaging=True)
ACTIVE = dict(source_tapes_config=dict(TAPE=dict(active=True)))


def plan(config=None, tape=(), stream=(), **others):
    """A scenario with a disk and a tape at one site, and a stream that reads a dataset there."""
    return scenario({"HERE": dict(storage="DISK")}, storages=dict(DISK=DISK, TAPE=DISK | dict(tape=True) | dict(tape)),
                    gdpconfig={} if config is None else dict(DATA_CAROUSEL_CONFIG=config),
                    workload=dict(campaigns=[STREAM | dict(stream)]), **others)


def problems(*said, **more):
    """Remarks on a scenario."""
    try:
        plan(*said, **more)
    except ScenarioError as error:
        return [(problem.key, problem.expected) for problem in error.problems]
    return []


def test_staging_from_tape_without_drives_is_refused_with_the_reason():
    (key, why), = problems(stream=dict(dataset="data"), data=DATA)
    assert key == "grid.storages.TAPE.drives" and "tasks of 'mc' have inputPreStaging" in why
    (key, why), = problems(ACTIVE)
    assert key == "grid.storages.TAPE.drives" and "makes tape 'TAPE' active" in why
    assert problems(ACTIVE, tape=dict(drives=1), stream=dict(dataset="data"), data=DATA) == []
    assert problems(stream=dict(dataset="data", inputPreStaging=False), data=DATA) == []


def test_every_tape_that_has_a_dataset_needs_drives_and_an_unknown_one_is_named():
    def found(*storages):
        held = dict(files=10, bytes=TB, container="all", replicas=[dict(storage=name) for name in storages])
        return sorted(key for key, _ in problems(stream=dict(container="all"), data=dict(datasets=dict(data=held))))
    assert found("TAPE", "DISK") == ["grid.storages.TAPE.drives"]
    assert found("TAPES", "TAPE") == ["data.datasets.data.replicas[0].storage", "grid.storages.TAPE.drives"]


@pytest.mark.parametrize(("config", "key"), [
    (["TAPE"], "gdpconfig.DATA_CAROUSEL_CONFIG"),
    (dict(source_tape_config={}), "gdpconfig.DATA_CAROUSEL_CONFIG.source_tape_config"),
    (dict(source_tapes_config=["TAPE"]), "gdpconfig.DATA_CAROUSEL_CONFIG.source_tapes_config"),
    (dict(source_tapes_config=dict(TAPE=True)), "gdpconfig.DATA_CAROUSEL_CONFIG.source_tapes_config.TAPE"),
    (dict(source_tapes_config=dict(TAPE=dict(max_size=-1))),
     "gdpconfig.DATA_CAROUSEL_CONFIG.source_tapes_config.TAPE.max_size"),
    (dict(source_tapes_config=dict(TAPE=dict(max_size=True))),
     "gdpconfig.DATA_CAROUSEL_CONFIG.source_tapes_config.TAPE.max_size"),
    (dict(source_tapes_config=dict(TAPE=dict(destination_expression="A|B"))),
     "gdpconfig.DATA_CAROUSEL_CONFIG.source_tapes_config.TAPE.destination_expression"),
    (dict(source_tapes_config=dict(TAPES={})), "gdpconfig.DATA_CAROUSEL_CONFIG.source_tapes_config.TAPES"),
    (dict(source_rses_config=dict(TAPES=dict(tape="x"))), "gdpconfig.DATA_CAROUSEL_CONFIG.source_rses_config.TAPES"),
    (dict(source_rses_config=dict(TAPE={})), "gdpconfig.DATA_CAROUSEL_CONFIG.source_rses_config.TAPE.tape"),
    (dict(excluded_destinations="DISK"), "gdpconfig.DATA_CAROUSEL_CONFIG.excluded_destinations"),
    (dict(excluded_destinations=["DISC"]), "gdpconfig.DATA_CAROUSEL_CONFIG.excluded_destinations[0]"),
    (dict(source_rses_config=dict(TAPE=dict(tape="x")), source_tapes_config=dict(x={})), None),
])
def test_the_configuration_is_read_before_the_run(config, key):
    found = [one for one, _ in problems(config, tape=dict(drives=1))]
    assert found == ([] if key is None else [key])


@pytest.mark.parametrize(("tape", "keys"), [
    (dict(drives=1, tape=False), ["drives"]), (dict(mount_time=1), ["mount_time"]),
    (dict(drive_rate=1), ["drive_rate"]),
    (dict(drives=1, mount_time=0, drive_rate=1), []),
    pytest.param(dict(mount_time=120, drive_rate=300e6), [], id="the defaults, as a kept scenario writes them"),
])
def test_only_tape_has_drives(tape, keys):
    assert [key for key, _ in problems(tape=tape)] == [f"grid.storages.TAPE.{key}" for key in keys]


@pytest.mark.parametrize(("said", "text"), [
    pytest.param(dict(stream=dict(dataset="data"), data=DATA), "Nothing is staged from TAPE", id="no active tape"),
    pytest.param(dict(stream=dict(replicas=dict(tape=0.5)), tape={}), "stages nothing from HERE:",
                 id="input of single tasks, without drives"),
    pytest.param(dict(stream=dict(replicas=dict(tape=0.5))), "Nothing is staged from TAPE", id="input of single tasks"),
    pytest.param(dict(config=dict(source_tapes_config=dict(TAPE=dict(max_staging_ratio=3)))), "max_staging_ratio",
                 id="a field that PanDA does not use"),
    pytest.param(dict(config=dict(early_access_users=["x"])), "early_access_users", id="users"),
])
def test_what_has_no_effect_is_remarked(said, text):
    found = remarks(plan(**dict(tape=dict(drives=1)) | said))
    assert len([remark for remark in found if text in remark]) == 1
