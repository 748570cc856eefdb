import pytest

from simgrid_broker.policy.software.architecture import MalformedArchitecture, check_architecture

pytestmark = pytest.mark.rule("check_architecture")


def problems(text, edition="documented"):
    """(field, text from the position on, reason) of everything that is wrong."""
    return [(wrong.field, text[wrong.position:], wrong.reason) for wrong in check_architecture(text, edition)]


@pytest.mark.parametrize(("text", "field", "at", "reason"), [
    pytest.param("#", "", "#", "nothing follows", id="an empty CPU"),
    pytest.param("a@", "", "@", "nothing follows", id="an empty base platform"),
    pytest.param("a-b&", "", "&", "nothing follows", id="an empty GPU"),
    pytest.param("a-b@c@d", "", "@d", "second", id="two base platforms"),
    pytest.param("#x86_64^v3", "", "^v3", "ignored", id="an unknown part"),
    pytest.param(" x86_64-a", "", " x86_64-a", "blanks", id="a blank in front"),
    pytest.param("x86_64-a ", "", " ", "blanks", id="a blank behind"),
    pytest.param("#x86_64-intel-avx2-fast", "cpu_specs", "x86_64-intel-avx2-fast", "arch-vendor", id="four parts"),
    pytest.param("#x86_64--avx2", "cpu_specs", "x86_64--avx2", "arch-vendor", id="an empty vendor"),
    pytest.param("#(x86_64||aarch64)", "cpu_specs", "|aarch64)", "arch-vendor", id="an empty alternative"),
    pytest.param("#(x86_64", "cpu_specs.arch", "(x86_64", "regular expression", id="an open parenthesis"),
    pytest.param("a-(b#x86_64", "sw_platform", "(b#x86_64", "regular expression", id="a bad platform"),
    pytest.param("#&nvidia:vrm>=40960", "gpu_spec", "vrm>=40960", "did you mean 'vram'", id="an unknown key"),
    pytest.param("#&nvidia:vram", "gpu_spec", "vram", "ignored", id="no operator"),
    pytest.param("#&nvidia:vram>=big", "gpu_spec.vram", "big", "version", id="no number"),
    pytest.param("#&nvidia:vram=>40960", "gpu_spec.vram", "40960", "version", id="=> is no operator"),
    pytest.param("#&nvidia:cuda>=12:cuda>=13", "gpu_spec.version", "cuda>=13", "second time", id="a key twice"),
    pytest.param("#&nvidia:uarch!=Ampere", "gpu_spec.microarchitecture", "!=Ampere", "one of = ==",
                 id="an operator without effect"),
    pytest.param("#&nvidia:model>A100", "gpu_spec.model", ">A100", "one of = == !=", id="a model is not compared"),
    pytest.param("#&nvidia:model=*A100*", "gpu_spec.model", "*A100*", "regular expression", id="a glob"),
    pytest.param("#&(nvidia", "gpu_spec.vendor", "(nvidia", "regular expression", id="a bad vendor"),
    pytest.param("#&vram>=40960", "gpu_spec.vendor", "vram>=40960", "vendor", id="no vendor"),
    pytest.param("#&:vram>=40960", "gpu_spec.vendor", ":vram>=40960", "vendor", id="an empty vendor of GPUs"),
    pytest.param('{"gpu_spec": {"vendor": "nvidia"}', "", "", "not JSON", id="an open brace"),
    pytest.param("'{\"gpu_spec\": {}}'", "", "'{\"gpu_spec\": {}}'", "not JSON", id="quotes around JSON"),
    pytest.param('["x86_64"]', "", '["x86_64"]', "JSON object", id="a JSON list"),
    pytest.param('{"sw_platfrm": "a"}', "sw_platfrm", '"sw_platfrm": "a"}', "did you mean 'sw_platform'", id="a typo"),
    pytest.param('{"platform": "a"}', "platform", '"platform": "a"}', "did you mean 'sw_platform' or 'base_platform'?",
                 id="a key near to three has the nearest two"),
    pytest.param('{"sw_platf\\u0072m": "a"}', "sw_platfrm", '{"sw_platf\\u0072m": "a"}', "did you mean 'sw_platform'",
                 id="a typo in an escaped key is somewhere in the text"),
    pytest.param('{"gpu_spec": {"model": ".*", "excl": true}}', "gpu_spec.excl", '"excl": true}}', "unknown key",
                 id="excl outside of the model has no effect"),
    pytest.param('{"gpu_spec": {"vram": 40960}}', "gpu_spec.vram", '"vram": 40960}}', "wrong type", id="a number"),
    pytest.param('{"gpu_spec": {"vram": "40960"}}', "gpu_spec.vram", '40960"}}', "operator", id="no operator in JSON"),
    pytest.param('{"gpu_spec": {"model": {"excl": true}}}', "gpu_spec.model.pattern", '"model": {"excl": true}}}',
                 "missing", id="no pattern"),
    pytest.param('{"cpu_specs": "x86_64"}', "cpu_specs", '"cpu_specs": "x86_64"}', "list of objects", id="no list"),
])
def test_a_problem_says_where_it_is(text, field, at, reason):
    (found,) = problems(text)
    assert found[:2] == (field, at) and reason in found[2]


@pytest.mark.parametrize(("text", "at", "reason"), [
    pytest.param("#&*", "&*", "drops", id="any GPU"),
    pytest.param("x86_64&nvidia", "x86_64&nvidia", "taken as the CPU", id="no dash"),
    pytest.param('{"cpu_specs": [{"vendor": "intel"}]}', '"cpu_specs": [{"vendor": "intel"}]}',
                 "needs the architecture", id="a vendor alone"),
    pytest.param("#*-intel", "#*-intel", "needs the architecture", id="any architecture of a vendor"),
])
def test_only_the_deployed_edition_has_trouble(text, at, reason):
    assert problems(text) == []
    (found,) = problems(text, "deployed")
    assert found[1] == at and reason in found[2]


def test_release_1_0_4_knows_unequal():
    (found,) = problems("#&nvidia:vram!=15360", "deployed-1.0.3")
    assert found[1] == "15360" and "refuses every queue" in found[2]
    assert problems("#&nvidia:vram!=15360", "deployed-1.0.4") == []


@pytest.mark.parametrize("edition", ["documented", "deployed"])
@pytest.mark.parametrize("text", [
    pytest.param("", id="nothing"),
    pytest.param("x86_64-el9-gcc13-opt", id="a platform"),
    pytest.param("x86_64-el9-gcc13-opt@x86_64-centos7", id="a base platform"),
    pytest.param("@centos7", id="a base platform alone"),
    pytest.param("a-b@base#(x86_64-intel-avx2|aarch64)&nvidia-kt100", id="everything"),
    pytest.param('{"sw_platform": "a-b", "cpu_specs": [{"arch": "x86_64"}]}', id="JSON"),
])
def test_nothing_is_wrong(text, edition):
    assert problems(text, edition) == []


def test_a_dash_is_missing_in_the_deployed_edition_alone_whatever_is_ignored():
    assert [reason for _, _, reason in problems("x86_64^v3")] == ["what follows `^` is ignored"]
    assert [field for field, _, _ in problems("x86_64^v3", "deployed")] == ["cpu_specs", ""]


def test_all_problems_are_listed_in_their_order():
    found = problems("#x86_64-a-b-c&nvidia:vrm>1:cuda>=x")
    assert [field for field, _, _ in found] == ["cpu_specs", "gpu_spec", "gpu_spec.version"]


def test_a_problem_reads_as_a_sentence():
    (wrong,) = check_architecture("#&nvidia:vram")
    assert isinstance(wrong, MalformedArchitecture) and isinstance(wrong, ValueError)
    assert str(wrong) == "character 10, gpu_spec: 'vram' is ignored; expected key=value"
