"""Let the tests of metrics use the fake run."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "records"))
