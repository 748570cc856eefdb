"""The notebook of the examples runs from its first cell to its last, with a study in it."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]


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
    assert len(shown) == 4 and "wait_p50" in shown[0] and "replicate" in shown[1] and "minimal/seed-1" in shown[2]
    assert "is_real" in shown[3]
