"""gdpconfig of a case, {component: {key: value}}, as the package has it in force."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from simgrid_broker.scenario.gdpconfig import in_force, settings
from simgrid_broker.views import Gdpconfig


def gdpconfig(case: Mapping[str, Any]) -> tuple[Gdpconfig, list[str]]:
    """Values in force, defaults included, and what the package does not accept; what is missing has its default."""
    given = {f"{component}.{key}": value for component, keys in (case.get("gdpconfig") or {}).items()
             for key, value in (keys or {}).items()}
    refused = [f"gdpconfig {finding.key[-1]} = {finding.value!r}: {finding.expected}" for finding in settings(given)[1]]
    return Gdpconfig(in_force(SimpleNamespace(gdpconfig=given, edition=case["edition"]))), refused
