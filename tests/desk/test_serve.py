"""The command `serve` as a process: a run is started, cancelled, and ended with the server."""

import json
import re
import signal
import socket
import subprocess
import sys
import time

import httpx2
import pytest

from simgrid_broker.desk.app import bound


@pytest.fixture
def server(tmp_path, heeds_ctrl_c):
    """A server in a process of its own, and a browser that has its cookie; the port that it asked for is taken."""
    with bound(18430) as taken:
        port = taken.getsockname()[1]
        process = subprocess.Popen([sys.executable, "-m", "simgrid_broker", "serve", "results", "--port", str(port)],
                                   cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=heeds_ctrl_c)
        lines = [process.stdout.readline() for _ in range(3)]
    address = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=\S+", lines[2])
    assert address and int(address[1]) > port and f"port {port} is taken" in lines[0]
    origin = f"http://127.0.0.1:{address[1]}"
    with httpx2.Client(base_url=origin, headers={"Origin": origin}, timeout=20, trust_env=False) as browser:
        browser.get(address[0], follow_redirects=True).raise_for_status()
        yield process, browser
    process.kill()
    process.communicate()


def test_a_run_is_started_and_watched_and_ctrl_c_ends_it_with_the_server(server, tmp_path):
    process, browser = server
    answer = browser.post("/start", data={"scenario": "scenarios/minimal.yaml", "until": "100d",
                                          "settings": "record.jobs=false\nwarm_up=0h"})
    until, page = time.monotonic() + 60, answer.headers["location"]
    while not (words := re.search(r"of 100 d, ([\d,]+) jobs ended", browser.get(page).text)) or words[1] == "0":
        assert time.monotonic() < until, browser.get(page).text
        time.sleep(0.1)
    waits = browser.post("/start", data={"scenario": "scenarios/minimal.yaml", "kind": "replicate"}).headers["location"]
    with browser.stream("GET", "/events") as events:
        said = json.loads(next(line for line in events.iter_lines() if line.startswith("data:")).removeprefix("data:"))
        assert set(said["progress"]["results/minimal/seed-1"]["shares"]) == {"Analysis", "Production"}
        assert "waiting" in browser.get(waits).text, "a study takes all cores"
        process.send_signal(signal.SIGINT)
        assert process.wait(40) == 130
    run = tmp_path / "results" / "minimal" / "seed-1"
    assert json.loads((run / "manifest.json").read_text())["status"] == "interrupted"
    assert process.stderr.read() == "" and not (run / "progress.json").exists()
    with pytest.raises(OSError), socket.create_connection((browser.base_url.host, browser.base_url.port), timeout=1):
        pass
