"""The attribute `architecture` of a task of a case, which JEDI has not converted from a string to JSON."""

import json

from simgrid_broker.policy.software.architecture import Architecture, GpuSpec, literal_of


def as_json(text: str | None) -> str:
    """The JSON that says what a string says, wildcards included; JSON stays as it is, null is empty."""
    if not text or text.lstrip().startswith("{"):
        return text or ""
    asked = literal_of(text)
    return json.dumps({key: value for key, value in of_architecture(asked).items() if value})


def of_architecture(asked: Architecture) -> dict:
    """The fields of the JSON form."""
    cpus = [dict(arch=spec.arch, vendor=spec.vendor, instr=spec.instr) for spec in asked.cpu_specs]
    gpu = None if asked.gpu_spec is None else of_gpu(asked.gpu_spec)
    return dict(sw_platform=asked.sw_platform, base_platform=asked.base_platform, cpu_specs=cpus, gpu_spec=gpu)


def of_gpu(spec: GpuSpec) -> dict:
    """The fields of a GPU in the JSON form."""
    found = {name: value for name, value in vars(spec).items() if value and name != "excl"}
    if spec.excl:
        found["model"] = dict(pattern=spec.model, excl=True)
    return found | ({"microarchitecture": list(spec.microarchitecture)} if spec.microarchitecture else {})
