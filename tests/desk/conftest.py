"""A control room of a folder of results with one short run, and a browser that has its cookie."""

import pytest
from starlette.testclient import TestClient

import simgrid_broker as sb
from simgrid_broker.desk.app import application, control_room
from simgrid_broker.desk.security import Key

PORT = 8080
HERE = f"http://127.0.0.1:{PORT}"


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """Folder of a run of two hours of the smallest scenario."""
    scenario = sb.load_scenario("minimal").with_values({"duration": "2h", "warm_up": "0h"})
    return sb.simulate(scenario, folder=tmp_path_factory.mktemp("recorded") / "seed-1").folder


@pytest.fixture
def results(tmp_path):
    """An empty folder of results."""
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


@pytest.fixture
def key():
    """The secrets of the server."""
    return Key(PORT)


@pytest.fixture
def stranger(results, key):
    """A browser without the cookie."""
    with TestClient(application(control_room(results), key), base_url=HERE, follow_redirects=False) as client:
        yield client


@pytest.fixture
def browser(stranger, key):
    """A browser that has opened the first address."""
    stranger.get(key.address)
    stranger.headers["Origin"] = HERE
    return stranger
