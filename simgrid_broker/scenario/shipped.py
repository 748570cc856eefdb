"""Scenarios that come with the package: beside it in a checkout, inside it in an installation."""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
FOLDER = next((path for path in (PACKAGE / "scenarios", PACKAGE.parent / "scenarios") if path.is_dir()), None)
"""Folder of these scenarios, of which each file may extend others; None if they were not installed."""


def files() -> dict[str, Path]:
    """Paths of the scenarios and snapshots by name, in alphabetical order."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))} if FOLDER else {}


def located(path: str | Path, folder: Path = Path()) -> Path:
    """A path relative to a folder, or that of a shipped scenario if it is only the name of one and no file is there."""
    path, there = Path(path), folder / path
    return there if there.exists() or path.parent.name else files().get(path.name.removesuffix(".yaml"), there)
