"""Build hook: a wheel with compiled code is one of a platform, and without it of any."""

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KeptCode(BuildHookInterface):
    """Tags the wheel with this platform if `scripts/make_kept_code.py` has put compiled code into the package."""

    def initialize(self, version, build_data):
        """Called before the wheel is built."""
        if Path(self.root, "simgrid_broker", "compiled", "shipped").is_dir():
            build_data |= {"pure_python": False, "infer_tag": True}
