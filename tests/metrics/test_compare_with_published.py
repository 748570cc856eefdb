"""The table of simulated and published figures: what it computes of a small run, and that the gallery has it."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from small_run import HOUR, job, queue_columns, run_of

from simgrid_broker.names import Cause, JobStatus
from simgrid_broker.schema import RECORDED

ROOT = Path(__file__).parents[2]
KIND = "processing_types0"


@pytest.fixture(scope="module")
def script():
    path = ROOT / "scripts" / "compare_with_published.py"
    spec = importlib.util.spec_from_file_location("compare_with_published", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def eight_cores(hours, efficiency, **said):
    """A job of some hours on eight cores that waited an hour, from 8 h on."""
    end = dict(failed=8 + hours) if "status" in said else dict(finished=8 + hours)
    return job(cores=8, activated=7, running=8, holding=8 + hours, maxpss_mb=8000, walltime_s=hours * HOUR,
               cputime_s=efficiency * 8 * hours * HOUR, **end, **said)


@pytest.fixture
def run(tmp_path, monkeypatch, script):
    """Three finished jobs and a failed one in the window from 6 h to 30 h, one before it, and a queue of ten jobs."""
    monkeypatch.setattr(script, "LINK_TAGS", ("-t1",))
    jobs = [eight_cores(1, 0.5), eight_cores(2, 0.5), eight_cores(3, 0.5),
            eight_cores(2, 0.25, status=JobStatus.FAILED, cause=Cause.LOST_HEARTBEAT),
            job(activated=0, running=1, holding=3, finished=3, walltime_s=9 * HOUR)]
    times = np.arange(0, 31, 6) * HOUR
    numbers = dict(running=10, running_cores=80, activated=3, assigned=2, transferring=1)
    samples = {"time_s": times, **queue_columns(len(times)),
               **{name: np.full(len(times), value) for name, value in numbers.items()}}
    return run_of(tmp_path / "run", warm_up_h=6, duration_h=30, jobs=jobs, queues=samples, links=link_rows(),
                  refusals=refused())


def link_rows():
    """One sample of two links, a day's traffic: 90 GB in 90 files with 10 failures, and 10 GB in 10 without any."""
    given = {"time_s": [24 * HOUR] * 2, "source": [0, 1], "destination": [1, 0], "bytes": [90e9, 10e9],
             "files": [90, 10], "files_failed": [10, 0]}
    return {column.name: np.array(given.get(column.name, [0, 0])) for column in RECORDED["links"].columns}


def refused():
    """A hundred refusals of job brokerage, 25 of them by the tag of full links."""
    counts = np.array([25, 75])
    return {"time_s": np.full(2, 12 * HOUR), "kind": np.ones(2, int), "candidate": np.zeros(2, int),
            "tag": np.array([0, 1]), "criterion": np.array([0, 1]), "share": np.zeros(2, int),
            **{name: counts for name in ("count", "queue_count", "pool_count")}}


@pytest.mark.parametrize(("name", "simulated"), [
    pytest.param("cores in use", "80", id="mean over the samples"),
    pytest.param("jobs ended a day", "4", id="those of the window alone"),
    pytest.param("wall time of pile-up, h, quartiles", "none", id="no such job"),
    pytest.param("failed, % of finished and failed", "25.00", id="one of four"),
    pytest.param("lost heartbeats, % of finished and failed", "25.00", id="by cause"),
    pytest.param("CPU efficiency, finished jobs", "0.50", id="CPU time over wall time x cores"),
    pytest.param("CPU efficiency, failed jobs", "0.25", id="of failed jobs"),
    pytest.param("queued over running, whole grid", "0.50", id="assigned and activated over running"),
    pytest.param("transferring over running, whole grid", "0.10", id="transferring over running"),
    pytest.param("refusals of production brokerage due to links, %", "25.00", id="refusals by tag"),
    pytest.param("traffic between sites, GB/s", "0.0", id="0.1 TB a day"),
    pytest.param("files moved a day", "100", id="files of all links"),
    pytest.param("size of a file moved, MB, mean", "1 000", id="bytes over files"),
    pytest.param("links with traffic", "2", id="links with a sample"),
    pytest.param("mean rate by link, MB/s, 25 / 50 / 75 %", "0.35 / 0.58 / 0.81", id="bytes over the window"),
    pytest.param("bytes on the busiest 1 % and 10 % of the links, %", "90 and 90", id="at least one link"),
    pytest.param("failed attempts at files, %", "9.1", id="10 of 110 attempts"),
    pytest.param("failed attempts by link, %, 50 / 75 / 95 %", "5.0 / 7.5 / 9.5", id="10 % and none"),
    pytest.param("wait for a slot, h, median", "1.00", id="from activated to running"),
])
def test_a_simulated_figure(script, run, name, simulated):
    rows = {row.name: row for row in script.ROWS}
    assert rows[name].simulated(script.Figures(run)) == simulated


def test_figures_of_a_type_are_of_its_finished_jobs(script, run):
    found = script.Figures(run)
    assert script.wall_time(KIND, "work", "").simulated(found) == "1.50 / 2.00 / 2.50"
    assert script.memory(KIND, "work", "").simulated(found) == "1.00 / 1.00 / 1.00"


def test_the_table_is_written_between_its_markers(script, run, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{script.BEGIN}\nold\n{script.END}\nafter\n")
    script.write(script.table(run), page)
    text = page.read_text()
    assert text.startswith(f"before\n{script.BEGIN}\n\nA run of `small.yaml`, seed 1;") and "old" not in text
    assert text.endswith(f"{script.END}\nafter\n") and "| cores in use | 1 | 250 000 to 500 000 (2018) | 80 |" in text


def test_the_gallery_has_every_row_with_its_published_value(script):
    text = (ROOT / "scenarios" / "README.md").read_text()
    table = text[text.index(script.BEGIN):text.index(script.END)]
    assert not [row.name for row in script.ROWS if f"| {row.name} | {row.section} | {row.published} |" not in table]
    assert "A run of `atlas_day.yaml`" in table
