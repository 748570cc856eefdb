"""The notebook of the examples runs from its first cell to its last, with a study and a calibration in it."""

import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="the extra `test` has nbformat, which reads notebooks")
NotebookClient = pytest.importorskip("nbclient", reason="the extra `test` has nbclient, which runs them").NotebookClient

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def fields(table):
    """Fields of the rows of a table as HTML."""
    return [row for row in (re.findall("<td>(.*?)</td>", part) for part in table.split("<tr>")) if row]


SMALL = {"fast_rebrokerage": ("CORES, HOURS, SEEDS = 340, 36, 5", "CORES, HOURS, SEEDS = 34, 24, 2"),
         "event_generation": ("CORES, HOURS, SEEDS, TRAJECTORIES = 80, 36, 1, 8",
                              "CORES, HOURS, SEEDS, TRAJECTORIES = 40, 26, 1, 2")}
"""First lines of the notebooks of studies, and those of a small grid."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SMALL)
def test_worked_studies_run_on_a_small_grid(name, tmp_path, monkeypatch):
    book = nbformat.read(ROOT / "examples" / f"{name}.ipynb", 4)
    assert any(cell.get("outputs") for cell in book.cells), "kept with its results"
    whole, small = SMALL[name]
    assert sum(whole in cell.source for cell in book.cells) == 1
    for cell in book.cells:
        cell.source = cell.source.replace(whole, small)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    (tmp_path / "examples").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    NotebookClient(book, timeout=300, kernel_name="python3",
                   resources={"metadata": {"path": str(tmp_path / "examples")}}).execute()
    pdf = (tmp_path / "examples" / "results" / f"{name}.pdf").read_bytes()
    assert pdf.startswith(b"%PDF") and b"/Subtype /Image" not in pdf, "lines, not pixels"


@pytest.mark.filterwarnings("ignore")                     # those of Jupyter's own packages
def test_the_notebook_runs_and_shows_its_study(tmp_path, monkeypatch):
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    (tmp_path / "examples").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")             # workers without kept code would compile for a minute
    book = nbformat.read(ROOT / "examples" / "study.ipynb", 4)
    assert not any(cell.get("outputs") for cell in book.cells), "kept without outputs"
    NotebookClient(book, timeout=300, kernel_name="python3",
                   resources={"metadata": {"path": str(tmp_path / "examples")}}).execute()
    shown = ["".join(output.data.get("text/html", "")) for cell in book.cells if cell.cell_type == "code"
             for output in cell.outputs if output.output_type == "execute_result"]
    replicated, study, run, compared, powers, errors = shown
    assert "wait_p50" in replicated and "replicate" in study and "minimal/seed-1" in run and "is_real" in compared
    assert {row[1]: float(row[4]) for row in fields(powers)} == pytest.approx(
        {"CENTRE": 10, "NORTH": 12, "SOUTH": 8}, rel=1e-3)           # the fit of base times leaves 0.06 %
    off = {when: max(float(row[6]) for row in fields(errors) if row[2] == when) for when in ("before", "after")}
    assert off["after"] < 2 < off["before"]
