"""True if a queue has the CPUs and GPUs that a task asks for, by CRIC and by reports of worker nodes.

Sources: PanDA brokerage documentation, checks for CPU and GPU hardware; brokerage reference, section 5.2, points 1 to 6
(D38 to D40). A requirement that makes PanDA fail refuses the queue.
"""

from simgrid_broker.policy.software.architecture import CONSTRAINTS, WILDCARD, Architecture, CpuSpec, GpuSpec
from simgrid_broker.policy.software.comparisons import TERMS, BadPattern, covers, satisfies, starts
from simgrid_broker.views import Hardware, WorkerNodeGpu

ANY, EXCLUSIVE = "any", "excl"
"""Words in CRIC's lists; source: formats reference, section 6."""
NOT_ASKED = (None, WILDCARD)

Listed = tuple[str, ...] | None


class _MissingField(ValueError):
    """A requirement without the field that PanDA reads: PanDA fails on it."""


def has_hardware(asked: Architecture, published: tuple[Hardware, ...], gpus: tuple[WorkerNodeGpu, ...],
                 edition: str) -> bool:
    """True if a queue with this hardware may get work with these requirements."""
    cpu, gpu = of_kind("cpu", published, edition), of_kind("gpu", published, edition)
    if is_reserved(asked, published, edition):
        return False
    try:
        return ((not asked.cpu_specs or any(_has_cpu(asked.cpu_specs, each, edition) for each in cpu))
                and (asked.gpu_spec is None or bool(gpu) and _has_gpu(asked.gpu_spec, gpus, edition)))
    except (_MissingField, BadPattern):
        return False


def is_reserved(asked: Architecture, published: tuple[Hardware, ...], edition: str) -> bool:
    """True if a queue is only for tasks that ask for its CPU or GPU, and the task does not."""
    return (not asked.cpu_specs and _exclusive(of_kind("cpu", published, edition))
            or asked.gpu_spec is None and _exclusive(of_kind("gpu", published, edition)))


def of_kind(kind: str, published: tuple[Hardware, ...], edition: str) -> tuple[Hardware, ...]:
    """Entries of one kind; the deployed edition knows only the last one of each kind."""
    found = tuple(each for each in published if each.type == kind)
    return found[-1:] if TERMS[edition].last_entry else found


def _exclusive(hardware: tuple[Hardware, ...]) -> bool:
    """True if the queue is only for tasks that ask for such hardware."""
    return any(EXCLUSIVE in (listed or ()) for each in hardware
               for listed in (each.arch, each.instr, each.vendor, each.model))


def _has_cpu(specs: tuple[CpuSpec, ...], cpu: Hardware, edition: str) -> bool:
    """True if one of the alternatives is at hand."""
    return any(_has_arch(spec.arch, cpu.arch, edition) and _has_word(spec.vendor, cpu.vendor, edition)
               and _has_word(spec.instr, cpu.instr, edition) for spec in specs)


def _has_arch(asked: str | None, listed: Listed, edition: str) -> bool:
    """True if an architecture is among those of the queue, as a word or as a regular expression for one."""
    if TERMS[edition].needs_arch and (asked is None or listed is None):
        raise _MissingField("arch")
    return _has_word(asked, listed, edition) or (
        asked not in NOT_ASKED and any(covers(asked, word) for word in listed or ()))


def _has_word(asked: str | None, listed: Listed, edition: str) -> bool:
    """True if the queue lists a word; in the documented edition an empty word in the list matches any (D38)."""
    if asked in NOT_ASKED:
        return EXCLUSIVE not in (listed or ())
    return listed is not None and (ANY in listed or asked in listed or (TERMS[edition].empty_is_any and "" in listed))


def _has_gpu(asked: GpuSpec, gpus: tuple[WorkerNodeGpu, ...], edition: str) -> bool:
    """True if worker nodes reported what is asked for; without reports a queue has any GPU, but no specific one."""
    if asked == GpuSpec():
        return True
    if not gpus or (asked.excl and any(starts(asked.model, gpu.model or "") for gpu in gpus)):
        return False
    if TERMS[edition].kinds_apart:
        return _all_kinds(asked, gpus, edition)
    return any(_is_named(asked, gpu) and _is_of(asked, gpu) and _measures(asked, gpu, edition) for gpu in gpus)


def _all_kinds(asked: GpuSpec, gpus: tuple[WorkerNodeGpu, ...], edition: str) -> bool:
    """True if some kind has the vendor, some the model, some the microarchitecture, and all of them the figures."""
    vendor, model = GpuSpec(vendor=asked.vendor), GpuSpec(model=asked.model, excl=asked.excl)
    return (any(_is_named(vendor, gpu) for gpu in gpus) and any(_is_named(model, gpu) for gpu in gpus)
            and any(_is_of(asked, gpu) for gpu in gpus) and all(_measures(asked, gpu, edition) for gpu in gpus))


def _is_named(asked: GpuSpec, gpu: WorkerNodeGpu) -> bool:
    """True if vendor and model fit; a model that is to be excluded is not looked at."""
    return ((asked.vendor == WILDCARD or starts(asked.vendor, gpu.vendor or ""))
            and (asked.model == WILDCARD or asked.excl or starts(asked.model, gpu.model or "")))


def _is_of(asked: GpuSpec, gpu: WorkerNodeGpu) -> bool:
    """True if the microarchitecture is one of those asked for."""
    return not asked.microarchitecture or gpu.microarchitecture in asked.microarchitecture


def _measures(asked: GpuSpec, gpu: WorkerNodeGpu, edition: str) -> bool:
    """True if memory, CUDA and driver are known and meet what is asked for."""
    return all(wanted is None or (found is not None and satisfies(found, wanted, edition))
               for wanted, found in ((getattr(asked, name), getattr(gpu, name)) for name in CONSTRAINTS))
