"""gdpconfig of a case, {component: {key: value}}, as the package has it in force."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from panda_cases.shape import fields, named
from simgrid_broker.scenario.gdpconfig import in_force, settings
from simgrid_broker.views import Gdpconfig


def gdpconfig(case: Mapping[str, Any]) -> tuple[Gdpconfig, list[str]]:
    """Values in force, defaults included, and what the package does not accept; what is missing has its default."""
    refused = list[str]()
    components = named(fields())(case.get("gdpconfig"), "gdpconfig", refused)
    given = {f"{component}.{key}": value for component, keys in components.items() for key, value in keys.items()}
    refused += [f"gdpconfig {finding.key[-1]} = {finding.value!r}: {finding.expected}"
                for finding in settings(given)[1]]
    return Gdpconfig(in_force(SimpleNamespace(gdpconfig=given, edition=case["edition"]))), refused
