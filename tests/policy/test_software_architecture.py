import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.policy.software.architecture import (
    Architecture,
    CpuSpec,
    GpuSpec,
    check_architecture,
    literal_of,
    parse_architecture,
)

pytestmark = pytest.mark.rule("parse_architecture", "literal_of")

EDITIONS = ("documented", "deployed")


def said(text, edition="documented"):
    """What is asked for, without what is not."""
    parsed, nothing = parse_architecture(text, edition), Architecture()
    return {name: getattr(parsed, name) for name in vars(nothing) if getattr(parsed, name) != getattr(nothing, name)}


SHORTHAND = [
    ("#&nvidia", GpuSpec("nvidia")),
    ("#&nvidia:vram>=40960", GpuSpec("nvidia", vram=">=40960")),
    ("#&nvidia:vram==15360", GpuSpec("nvidia", vram="==15360")),
    ("#&nvidia:vram=15360", GpuSpec("nvidia", vram="==15360")),
    ("#&nvidia:uarch=Ampere:cuda>=12.0", GpuSpec("nvidia", microarchitecture=("Ampere",), version=">=12.0")),
    ("#&nvidia:model=.*A100.*:vram>=40960:driver>=575.0",
     GpuSpec("nvidia", ".*A100.*", vram=">=40960", driver_version=">=575.0")),
    ("#&nvidia:model!=.*P100.*", GpuSpec("nvidia", ".*P100.*", True)),
    ("#&nvidia:model!=.*(P100|V100).*", GpuSpec("nvidia", ".*(P100|V100).*", True)),
    ("#&nvidia:model=.*A100.*:vram>=40960", GpuSpec("nvidia", ".*A100.*", vram=">=40960")),
    ("#&nvidia:cuda>=12.0:uarch=Ampere", GpuSpec("nvidia", microarchitecture=("Ampere",), version=">=12.0")),
    ("#&nvidia:model=.*A100.*:vram==81920:cuda>=12.0:driver>=575.0",
     GpuSpec("nvidia", ".*A100.*", vram="==81920", version=">=12.0", driver_version=">=575.0")),
]
JSON = [
    ('{"gpu_spec": {"vendor": "nvidia", "vram": ">=40960", "version": ">=12.0"}}',
     GpuSpec("nvidia", vram=">=40960", version=">=12.0")),
    ('{"gpu_spec": {"vendor": "nvidia", "model": ".*A100.*", "microarchitecture": "Ampere", '
     '"driver_version": ">=575.0"}}',
     GpuSpec("nvidia", ".*A100.*", microarchitecture=("Ampere",), driver_version=">=575.0")),
    ('{"gpu_spec": {"vendor": "nvidia", "model": {"pattern": ".*P100.*", "excl": true}, "vram": ">=40960"}}',
     GpuSpec("nvidia", ".*P100.*", True, vram=">=40960")),
    ('{"gpu_spec": {"vendor": "nvidia", "model": {"pattern": ".*(P100|V100).*", "excl": true}}}',
     GpuSpec("nvidia", ".*(P100|V100).*", True)),
    ('{"gpu_spec": {"microarchitecture": ["Ampere", "Hopper", "Ada Lovelace"]}}',
     GpuSpec(microarchitecture=("Ampere", "Hopper", "Ada Lovelace"))),
]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("text", "gpu"), SHORTHAND + JSON, ids=[text for text, _ in SHORTHAND + JSON])
def test_gpu_examples_of_the_documentation(text, gpu, edition):
    assert said(text, edition) == {"gpu_spec": gpu}
    assert check_architecture(text, edition) == ()


X86, ARM = CpuSpec("x86_64"), CpuSpec("aarch64")


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("text", "wanted"), [
    pytest.param("", {}, id="nothing"),
    pytest.param("x86_64-el9-gcc13-opt", {"sw_platform": "x86_64-el9-gcc13-opt", "cpu_specs": (X86,)},
                 id="the platform says which CPU"),
    pytest.param("x86_64-el9-gcc13-opt@x86_64-centos7+docker://a/b:1",
                 {"sw_platform": "x86_64-el9-gcc13-opt", "base_platform": "x86_64-centos7+docker://a/b:1",
                  "cpu_specs": (X86,)}, id="a base platform with an image"),
    pytest.param("@centos7", {"base_platform": "centos7"}, id="a base platform alone asks for no CPU"),
    pytest.param("x86_64-el9#aarch64", {"sw_platform": "x86_64-el9", "cpu_specs": (ARM,)}, id="a CPU of its own"),
    pytest.param("#x86_64-intel-avx2", {"cpu_specs": (CpuSpec("x86_64", "intel", "avx2"),)}, id="vendor, instructions"),
    pytest.param("#(x86_64|aarch64)", {"cpu_specs": (X86, ARM)}, id="two CPUs in parentheses"),
    pytest.param("#x86_64|aarch64", {"cpu_specs": (X86, ARM)}, id="two CPUs without"),
    pytest.param("a-b#(x86_64-intel-avx2|aarch64)&nvidia-kt100",
                 {"sw_platform": "a-b", "cpu_specs": (CpuSpec("x86_64", "intel", "avx2"), ARM),
                  "gpu_spec": GpuSpec("nvidia", "kt100")}, id="everything"),
    pytest.param("a-b@base#x86_64&nvidia", {"sw_platform": "a-b", "base_platform": "base", "cpu_specs": (X86,),
                                            "gpu_spec": GpuSpec("nvidia")}, id="base before CPU"),
    pytest.param("#&*:vram>=1", {"gpu_spec": GpuSpec(vram=">=1")}, id="any GPU with some memory"),
    pytest.param("#&nvidia:vrm>=1:nonsense:vram>=2", {"gpu_spec": GpuSpec("nvidia", vram=">=2")},
                 id="unknown keys and malformed fields are ignored"),
    pytest.param("#&nvidia:uarch>=Ampere", {"gpu_spec": GpuSpec("nvidia", microarchitecture=("Ampere",))},
                 id="the operator of the microarchitecture is ignored"),
    pytest.param("#&nvidia:model>=A", {"gpu_spec": GpuSpec("nvidia", "A")}, id="any other operator includes a model"),
    pytest.param("#x86_64^more&nvidia", {"cpu_specs": (X86,), "gpu_spec": GpuSpec("nvidia")}, id="^ ends a part"),
    pytest.param('{"sw_platform": "a-b", "base_platform": "c"}', {"sw_platform": "a-b", "base_platform": "c"},
                 id="JSON without CPUs asks for none"),
    pytest.param('{"cpu_specs": [{"arch": "x86_64", "type": "cpu"}, {"arch": "aarch64", "vendor": "arm"}]}',
                 {"cpu_specs": (X86, CpuSpec("aarch64", "arm"))}, id="JSON alternatives"),
    pytest.param('{"cpu_pref": {"preferred_architecture_level": "x86-64-v3"}}', {"preferred_level": "x86-64-v3"},
                 id="a preferred level"),
    pytest.param('{"sw_platform": "a", "encoded_platform": "x86_64-el9@base#aarch64"}',
                 {"sw_platform": "a", "base_platform": "base", "cpu_specs": (ARM,)}, id="an encoded platform fills in"),
    pytest.param('{"gpu_spec": {"vram": 40960}}', {"unreadable": "gpu_spec.vram"}, id="a number instead of text"),
    pytest.param('{"gpu_spec": "nvidia"}', {"unreadable": "gpu_spec"}, id="text instead of an object"),
    pytest.param('{"gpu_spec": {"model": {"excl": true}}}', {"unreadable": "gpu_spec.model.pattern"}, id="no pattern"),
    pytest.param('{"cpu_specs": {"arch": "x86_64"}}', {"unreadable": "cpu_specs"}, id="no list"),
    pytest.param('{"gpu_spec": null, "sw_platform": null}', {}, id="null is nothing"),
    pytest.param('{"gpu_spec": {}}', {"gpu_spec": GpuSpec()}, id="any GPU in JSON"),
])
def test_both_editions(text, wanted, edition):
    assert said(text, edition) == wanted


@pytest.mark.parametrize(("text", "documented", "deployed"), [
    pytest.param("#&*", {"gpu_spec": GpuSpec()}, {}, id="any GPU is dropped by the deployed edition"),
    pytest.param("#*", {"cpu_specs": (CpuSpec(None),)}, {}, id="any CPU is dropped by the deployed edition"),
    pytest.param("x86_64&nvidia",
                 {"sw_platform": "x86_64", "cpu_specs": (X86,), "gpu_spec": GpuSpec("nvidia")},
                 {"sw_platform": "x86_64", "cpu_specs": (CpuSpec("x86_64&nvidia"),), "gpu_spec": GpuSpec("nvidia")},
                 id="without a dash the deployed edition takes the GPU for a CPU"),
    pytest.param("#(x86_64|aarch64)-intel", {"cpu_specs": (CpuSpec("(x86_64|aarch64)", "intel"),)},
                 {"cpu_specs": (CpuSpec("(x86_64"), CpuSpec("aarch64)", "intel"))},
                 id="the deployed edition splits a regular expression at its bar"),
    pytest.param("#(a)|(b)", {"cpu_specs": (CpuSpec("(a)"), CpuSpec("(b)"))},
                 {"cpu_specs": (CpuSpec("a)"), CpuSpec("(b"))},
                 id="the deployed edition strips parentheses that are no pair"),
])
def test_where_the_editions_differ(text, documented, deployed):
    assert said(text, "documented") == documented
    assert said(text, "deployed") == deployed


# ---- grammars -------------------------------------------------------------------------------------------------------

words = st.text("abcxyz_0189.", min_size=1, max_size=8)
patterns = st.sampled_from([".*A100.*", "kt100", "Tesla.*", ".*(P100|V100).*", "A+"])
versions = st.builds("{}{}".format, st.sampled_from(["==", ">=", "<=", "<", ">"]),
                     st.sampled_from(["12.0", "40960", "575.57.08", "1"]))
gpus = st.builds(GpuSpec, words, patterns, st.booleans(), st.none() | versions, st.none() | versions,
                 st.just(()) | st.tuples(words), st.none() | versions)
cpus = st.builds(CpuSpec, words, words | st.just("*"), words | st.just("*"))
architectures = st.builds(Architecture, words, st.just("") | words, st.lists(cpus, min_size=1, max_size=3).map(tuple),
                          st.none() | gpus)
KEY_OF = {"version": "cuda", "vram": "vram", "driver_version": "driver"}


def as_string(asked):
    """An architecture in the form of a string."""
    text = asked.sw_platform + (f"@{asked.base_platform}" if asked.base_platform else "")
    text += "#" + "|".join(f"{cpu.arch}-{cpu.vendor}-{cpu.instr}" for cpu in asked.cpu_specs)
    gpu = asked.gpu_spec
    if gpu is not None:
        text += f"&{gpu.vendor}:model{'!=' if gpu.excl else '='}{gpu.model}"
        text += "".join(f":{KEY_OF[name]}{getattr(gpu, name)}" for name in KEY_OF if getattr(gpu, name))
        text += "".join(f":uarch={name}" for name in gpu.microarchitecture)
    return text


def as_json(asked):
    """An architecture in JSON."""
    values = {"sw_platform": asked.sw_platform, "base_platform": asked.base_platform,
              "cpu_specs": [vars(cpu) for cpu in asked.cpu_specs]}
    if asked.gpu_spec is not None:
        spec = {name: value for name, value in vars(asked.gpu_spec).items() if value is not None and name != "excl"}
        values["gpu_spec"] = spec | {"model": {"pattern": spec["model"], "excl": asked.gpu_spec.excl},
                                     "microarchitecture": list(spec["microarchitecture"])}
    return json.dumps(values)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("written", [as_string, as_json])
@given(asked=architectures)
def test_what_was_written_is_read_again_and_nothing_is_wrong_with_it(written, edition, asked):
    text = written(asked)
    assert parse_architecture(text, edition) == asked
    assert check_architecture(text, edition) == ()


mess = st.text(alphabet='abx-|()@#&^:=<>!*"{}[],\\ 1.') | st.text() | st.builds(
    json.dumps, st.dictionaries(st.sampled_from(["cpu_specs", "gpu_spec", "sw_platform", "cpu_pref",
                                                 "encoded_platform"]),
                                st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(
                                    inner, max_size=2) | st.dictionaries(st.sampled_from(
                                        ["arch", "vendor", "model", "vram", "pattern", "microarchitecture"]), inner),
                                    max_leaves=6)))


@given(mess)
def test_any_text_is_read_and_checked(text):
    for edition in EDITIONS:
        assert isinstance(parse_architecture(text, edition), Architecture)
        problems = check_architecture(text, edition)
        assert all(0 <= problem.position <= len(text) and str(problem) for problem in problems)


@given(mess)
def test_without_a_problem_the_editions_differ_in_wildcards_only(text):
    documented, deployed = (parse_architecture(text, edition) for edition in EDITIONS)
    if not check_architecture(text, "documented") and not check_architecture(text, "deployed"):
        assert not documented.unreadable
        if "*" not in text:
            assert documented == deployed


def test_deep_nesting_is_no_json():
    text = "[" * 100_000
    (problem,) = check_architecture(text)
    assert parse_architecture(text).sw_platform == text and problem.position == 0


@pytest.mark.parametrize(("text", "literal", "asked"), [
    pytest.param("#*", Architecture(cpu_specs=(CpuSpec("*"),)), Architecture(), id="any CPU"),
    pytest.param("#*-intel", Architecture(cpu_specs=(CpuSpec("*", "intel"),)),
                 Architecture(cpu_specs=(CpuSpec(None, "intel"),)), id="any CPU of a vendor"),
    pytest.param("#&*", Architecture(gpu_spec=GpuSpec()), Architecture(), id="any GPU"),
])
def test_wildcards_are_lost_when_a_string_is_converted(text, literal, asked):
    assert literal_of(text) == literal and parse_architecture(text) == asked
