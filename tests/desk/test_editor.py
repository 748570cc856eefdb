"""The editor of scenarios in a browser: a draft, its check beside the fields, saving, and what may not be read."""

import re
from html import unescape

import pytest

from simgrid_broker.desk.editor import Draft, digest, edited

EDIT = "/edit/results/scenarios/mine/mine.yaml"
PARTS = ("shares", "gdpconfig", "incidents&kind=site_outage", "values", "text")


@pytest.fixture
def mine(browser, results):
    """A scenario on top of a copy of the smallest one; its path."""
    answer = browser.post("/begin", data={"name": "mine", "base": "scenarios/minimal.yaml"})
    assert (answer.status_code, answer.headers["location"]) == (303, EDIT)
    return results / "scenarios" / "mine" / "mine.yaml"


@pytest.fixture
def page(browser):
    """A function that gets a part of the page as its words; tags that begin a block are lines."""
    def words(part, address=EDIT):
        answer = browser.get(f"{address}?part={part}")
        assert answer.status_code == 200
        return re.sub(r"\s+", " ", unescape(re.sub("<[^>]+>", " ", answer.text)))
    return words


def post(browser, address=EDIT, **fields):
    """Send a form; its status."""
    return browser.post(address, data=fields).status_code


def test_an_edit_is_a_draft_until_it_is_saved(browser, mine, page):
    """It goes into the file of the user; the base is shown as what it is."""
    before = mine.read_text()
    assert before == 'name: "mine"\nextends: "base/minimal.yaml"\n'
    assert "duration from minimal.yaml:" in page("values")
    assert post(browser, **{"set:duration": "3h", "set:warm_up": "30 min"}) == 303
    assert mine.read_text() == before and "unsaved draft" in page("values")
    assert post(browser, action="undo") == 303 and "unsaved draft" not in page("values")
    assert post(browser, **{"set:duration": "3h # short"}) == 303
    assert post(browser, action="save") == 303
    assert mine.read_text() == before + "duration: 3h # short\n"
    assert post(browser, remove="duration") == post(browser, action="discard") == 303
    assert "unsaved draft" not in page("values")


def test_shares_keys_and_incidents_are_added_changed_and_removed(browser, mine, page):
    assert "Analysis 20.00 % of the whole" in page("shares")
    for fields in ({"add": "shares", "new:name": "Tests", "new:value": "25"},
                   {"add": "shares.Analysis.children", "new:name": "Users", "new:value": "1"},
                   {"set:shares[1].value": "55"},
                   {"key": "gdpconfig.NQUEUELIMIT_Tests", "value": "12"}, {"set:gdpconfig.core.BAD": ""},
                   {"add": "incidents", "new:what": "gdpconfig", "new:at": "1h", "new:key": "NW_ACTIVE",
                    "new:value": "true"}):
        post(browser, **fields)
    assert "Analysis 20.00 % of the whole" in page("shares") and "Tests 25.00 % of the whole" in page("shares")
    assert "Users 20.00 % of the whole" in page("shares")
    assert "gdpconfig NW_ACTIVE True" in page("incidents")
    assert "jedi prod_job_throttler NQUEUELIMIT_Tests 12 int" in page("gdpconfig&changed=on")
    assert post(browser, remove="incidents[0]") == post(browser, remove="shares.Tests") == 303
    assert "Nothing happens at a given time" in page("incidents") and "Tests 20" not in page("shares")


def test_keys_of_gdpconfig_say_what_they_are_and_can_be_searched(mine, page):
    words = page("gdpconfig&search=nw_active")
    assert "Keys: 1 " in words and "read by policy.brokerage.production" in words and "default false" in words
    assert "Keys: 0 " in page("gdpconfig&search=nw_active&changed=on")


def test_what_check_says_is_beside_the_field_and_all_at_once(browser, mine):
    post(browser, text="name: mine\nextends: base/minimal.yaml\nduration: soon\n"
                       "shares: [{name: A, value: -1}, {name: B, value: 1}]\n"
                       "gdpconfig: {NW_ACTIV: 1, THROTTLE_THRESHOLD: -1}\nwrong: 1\n")
    said = {part: browser.get(f"{EDIT}?part={part}").text for part in PARTS}
    for text in said.values():
        assert "It cannot be run" in text and all(one in text for one in ("soon", "wrong", "NW_ACTIV")), text
    boxes = re.findall(r'<div class="key.*?\n</div>', said["shares"] + said["values"] + said["gdpconfig"], re.DOTALL)
    beside = {found[1]: box for box in boxes if (found := re.search(r'name="set:([^"]+)"', box)) and "error" in box}
    assert beside.keys() == {"shares[0].value", "duration", "wrong", "gdpconfig.THROTTLE_THRESHOLD"}
    assert "line 3: duration" in beside["duration"] and "line 4: shares[0].value" in beside["shares[0].value"]
    on_top = said["values"].partition('class="tabs"')[0]
    assert "did you mean" in on_top and "line 5: gdpconfig.NW_ACTIV" in on_top and "line 3" not in on_top


def test_a_remark_is_beside_its_field(browser, mine, page):
    post(browser, key="gdpconfig.USER_TASKS_MESSAGE_DRIVEN_PERCENT", value="5")
    said = browser.get(f"{EDIT}?part=gdpconfig&changed=on").text
    assert "1 remark(s)" in said and 'class="remark">gdpconfig key &#39;USER_TASKS_MESSAGE_DRIVEN_PERCENT&#39;' in said
    assert "has no effect" not in said.partition('class="tabs"')[0]
    assert "has no effect" in page("values")                                  # on top where it has no field


def test_a_text_that_is_no_yaml_is_kept_and_said(browser, mine, page):
    assert post(browser, text="shares: [") == 303
    for part in PARTS:
        words = page(part)
        assert "this is not YAML" in words and "shares: [" in words
    assert post(browser, **{"set:duration": "1h"}) == 400


def test_a_draft_is_not_saved_over_a_file_that_changed(browser, mine, page):
    post(browser, **{"set:duration": "3h"})
    mine.write_text("name: mine\nextends: base/minimal.yaml\nseed: 7\n")
    answer = browser.post(EDIT, data={"action": "save"})
    assert answer.status_code == 409 and "-seed: 7" in answer.text and "+duration: 3h" in answer.text
    seen = re.search('name="on_disk" value="([^"]+)"', answer.text)[1]
    mine.write_text("name: other\n")                                          # once more, while the difference is read
    assert post(browser, action="overwrite", on_disk=seen) == 409 and mine.read_text() == "name: other\n"
    assert post(browser, action="overwrite", on_disk=digest("name: other\n")) == 303
    assert "duration: 3h" in mine.read_text()


@pytest.mark.parametrize(("kept", "words"), [
    ('{\n  "text": ', r"\.json:2: the draft cannot be read: Expecting value"), ("\xff", "the draft cannot be read"),
    ("[]", r"\.json:1: the draft cannot be read: expected `text`"),
    ('{"text": "a", "digest": "b", "before": [3]}', "expected `text`")])
def test_a_damaged_draft_says_where_and_can_be_discarded(browser, mine, page, results, kept, words):
    post(browser, **{"set:duration": "3h"})
    draft, = (results / "scenarios" / ".drafts").iterdir()
    draft.write_text(kept, encoding="latin-1")
    answer = browser.get(EDIT)
    assert answer.status_code == 409 and re.search(words, unescape(answer.text))
    assert "Discard the draft" in answer.text
    assert post(browser, **{"set:duration": "4h"}) == post(browser, "/against" + EDIT.removeprefix("/edit")) == 400
    assert draft.read_text(encoding="latin-1") == kept and "It can be run" in answer.text
    assert post(browser, action="discard") == 303 and "unsaved draft" not in page("values")


def test_a_page_that_is_out_of_date_changes_nothing(browser, mine):
    seen = digest(mine.read_text())
    assert post(browser, seen=seen, **{"set:duration": "3h"}) == 303
    answer = browser.post(EDIT, data={"seen": seen, "set:seed": "3"})
    assert answer.status_code == 409 and "changed in another window" in answer.text and "seed" not in mine.read_text()


def test_what_cannot_be_edited_is_said_and_changes_nothing(browser, mine, page):
    for fields, words in (({"key": "grid.quees.X", "value": "1"}, "queues"), ({"key": "seed", "value": "[1"}, "YAML"),
                          ({"remove": "agents.adder"}, "no value"),
                          ({"add": "duration", "new:name": "x"}, "not a list"),
                          ({"set:": "1", "key": "a..b", "value": "1"}, "unknown key")):
        answer = browser.post(EDIT, data=fields)
        assert answer.status_code == 400 and words in re.sub("<[^>]+>", "", answer.text), fields
    assert "unsaved draft" not in page("values")


@pytest.mark.parametrize("text", [
    "extends: /etc/passwd", "extends: ../../../secret.yaml", "extends: link.yaml",
    "extends: [base/minimal.yaml, /etc/passwd]",
    "extends: base/minimal.yaml\ngrid: {pandaqueues: ../../../secret.yaml}",
    "extends: base/minimal.yaml\ngrid: {software: link.yaml}",
    "extends: base/minimal.yaml\nworkload: {trace: {file: ../../../secret.yaml}}"])
def test_no_path_in_a_scenario_leads_out(browser, mine, results, page, text):
    secret = results.parent / "secret.yaml"
    secret.write_text("name: root-only\ncolour: ultramarine\n")
    (mine.parent / "link.yaml").symlink_to(secret)
    post(browser, text=text)
    for part in PARTS:
        words = page(part)
        assert "It cannot be run" in words and "outside the folders" in words and "ultramarine" not in words


def test_only_files_of_named_folders_are_edited_and_none_of_the_package(browser, mine, results):
    assert post(browser, "/edit/scenarios/minimal.yaml", **{"set:duration": "3h"}) == 400
    for place in ("results/../secret.yaml", "etc/passwd", "results/scenarios/none.yaml", "results/%2e%2e/x.yaml"):
        assert browser.get(f"/edit/{place}").status_code in (400, 404)
        assert post(browser, f"/edit/{place}", action="save") in (400, 404)
    (results / "scenarios" / "link").symlink_to(mine.parent)
    address = "/edit/results/scenarios/link/mine.yaml"
    assert post(browser, address, **{"set:seed": "3"}) == 303 and post(browser, address, action="save") == 400
    assert "seed" not in mine.read_text()


def test_a_copy_takes_the_files_that_the_scenario_reads_and_none_from_elsewhere(browser, results):
    assert post(browser, "/begin", name="week", base="scenarios/atlas_week.yaml") == 303
    copies = {path.name for path in (results / "scenarios" / "week" / "base").iterdir()}
    assert {"atlas_week.yaml", "atlas.yaml"} <= copies
    assert post(browser, "/begin", name="gpu", base="scenarios/gpu_campaign.yaml") == 303
    assert (results / "scenarios" / "gpu" / "base" / "gpu_software.json").is_file()
    for name in ("week", "", "../x", "a/b", ".x", "x" * 81, "<b>"):
        assert post(browser, "/begin", name=name, base="scenarios/minimal.yaml") == 400, name
    bad = results / "scenarios" / "bad.yaml"
    bad.write_text("extends: ../x.yaml\n")
    (results / "x.yaml").write_text("name: x\n")
    assert post(browser, "/begin", name="bad", base="results/scenarios/bad.yaml") == 400
    assert not (results / "scenarios" / "bad").exists()


def test_a_key_is_set_beside_a_gdpconfig_that_is_no_mapping(browser, mine):
    post(browser, text="gdpconfig: 3\n")
    assert post(browser, **{"set:duration": "3h"}) == 303
    assert "gdpconfig: 3\nduration: 3h\n" in unescape(browser.get(f"{EDIT}?part=text").text)


HOSTILE = '"><script>alert(1)</script>{{ 7 * 7 }}'


def test_names_are_escaped_and_nothing_is_evaluated(browser, mine):
    name = HOSTILE.replace('"', '\\"')
    post(browser, text=f'name: mine\nextends: base/minimal.yaml\ndescription: "{name}"\nshares: [{{name: "{name}", '
                       f'value: 1}}]\ngdpconfig: {{"{name}": 1}}\nincidents: [{{at: 1h, what: "{name}"}}]\n'
                       f'seed: !!python/object/apply:os.system ["touch /tmp/evaluated"]\n')
    for part in PARTS:
        text = browser.get(f"{EDIT}?part={part}&search={HOSTILE}").text
        assert "<script>alert" not in text and "49" not in re.sub("[0-9a-f]{64}", "", text) and "alert(1)" in text


def test_runs_and_a_comparison_go_through_the_queue(browser, mine):
    text = browser.get(EDIT).text
    links = [unescape(found) for found in re.findall(r'href="(/start[^"]+)"', text)]
    for link, kind in zip(links[-2:], ("run", "replicate"), strict=True):
        form = browser.get(link)
        assert form.status_code == 200 and f'value="{kind}" checked' in form.text
        assert 'value="results/scenarios/mine/mine.yaml" selected' in form.text
    answer = browser.post("/against/results/scenarios/mine/mine.yaml", data={"seeds": "2"})
    assert answer.status_code == 303 and answer.headers["location"].startswith("/job/")
    job = browser.get(answer.headers["location"]).text
    assert job.count("replicate") >= 2 and "mine/base/minimal.yaml" in job


def test_lines_of_a_file_keep_their_ends():
    """A form sends every line with both characters."""
    for text in ("a: 1\n", "a: 1\r\n"):
        draft = Draft("", None, text, digest(text))
        assert edited(draft, {"text": "a: 2\r\nb: 3\r\n"}) == text.replace("1", "2") + text.replace("a: 1", "b: 3")
