"""Pages of runs and studies: what is listed, asked, kept, compared and deleted."""

import json
import shutil

import anyio
import pytest

from simgrid_broker.desk import questions, start
from simgrid_broker.desk.app import control_room
from simgrid_broker.desk.frame import Desk
from simgrid_broker.desk.jobs import WAITING
from simgrid_broker.records.progress import FILE as PROGRESS
from simgrid_broker.records.progress import this_process


@pytest.fixture
def run(results, recorded):
    """Place of a run among the results."""
    shutil.copytree(recorded, results / "minimal" / "seed-1")
    return "results/minimal/seed-1"


@pytest.fixture
def desk(browser):
    """The control room of the browser, whose queue starts nothing."""
    desk = browser.app.app.state.desk
    desk.queue._stop.set()
    desk.queue._thread.join()
    return desk


def test_runs_are_listed_as_what_they_are(browser, results, run, recorded):
    shutil.copytree(recorded, results / "killed" / "seed-1")
    manifest = json.loads((results / "killed" / "seed-1" / "manifest.json").read_text())
    (results / "killed" / "seed-1" / "manifest.json").write_text(json.dumps(manifest | {"status": "running"}))
    shutil.copytree(results / "killed", results / "going")
    (results / "going" / "seed-1" / PROGRESS).write_text(json.dumps(this_process() | dict(
        simulated_s=1800.0, duration_s=7200.0, jobs_ended=1234, running_cores=56,
        shares=[dict(share="<b>A", target=20.0, got=24.96)])))
    (results / "damaged").mkdir()
    (results / "damaged" / "manifest.json").write_text('{"status": "complete"}')
    (results / "compared").mkdir()
    (results / "compared" / "report.html").write_text("<title>A &amp; &lt;b&gt;B</title><p>page</p>")
    page = browser.get("/").text
    for row in ('seed-1</a></td><td>run</td><td>minimal</td><td>1</td><td>complete</td><td>2 h of 2 h',
                "killed/seed-1</a></td><td>run</td><td>minimal</td><td>1</td><td>killed",
                "going/seed-1</a></td><td>run</td><td>minimal</td><td>1</td><td>under way</td><td>30 min of 2 h",
                "damaged</a></td><td>run</td><td></td><td></td><td>damaged",
                'href="/files/results/compared/report.html">compared</a></td><td>page</td><td>A &amp; &lt;b&gt;B</td>',
                "30 min of 2 h, 1,234 jobs ended, 56 cores run"):
        assert row in page, row
    assert "KeyError" in browser.get("/run/results/damaged").text
    going = browser.get("/run/results/going/seed-1").text
    assert "&lt;b&gt;A" in going and "25.0" in going and "<b>A" not in going
    assert browser.get("/files/results/going/seed-1/").headers["location"] == "/run/results/going/seed-1"


@pytest.mark.parametrize(("address", "words"), [
    ("why/{}", "Target, cores"), ("why/{}?share=Analysis", "cores that pass"), ("shares/{}", "Production"),
    ("explain/{}?share=Analysis&task=%2D%2Djson", "cannot be combined"),
    ("users/{}", "Throttled by"),
    ("links/{}", "Nothing moved between sites"), ("coverage/{}", "Rules of the brokers"), ("run/{}", "Coverage")])
def test_questions_are_answered_as_the_commands_answer_them(browser, run, address, words):
    answer = browser.get("/" + address.format(run))
    assert answer.status_code == 200 and words in answer.text


def test_a_question_about_what_is_not_there_is_refused_with_the_nearest_name(browser, run):
    assert "did you mean &#39;Analysis&#39;" in browser.get(f"/why/{run}?share=Analysys").text
    assert browser.get("/shares/results/none").status_code == 400


def test_a_run_with_a_link_out_of_its_folder_is_not_read(browser, results, run, tmp_path):
    shutil.copy(results / "minimal" / "seed-1" / "jobs.parquet", tmp_path / "jobs.parquet")
    (results / "minimal" / "seed-1" / "more.parquet").symlink_to(tmp_path / "jobs.parquet")
    for kind in questions.KINDS:
        assert "is a link out of the folder" in browser.get(f"/{kind}/{run}").text


def test_notes_and_questions_are_kept_with_a_run_as_text(browser, results, run):
    note = "late since noon\n</textarea><script>alert(1)</script>"
    assert browser.post(f"/notes/{run}", data={"notes": note.replace("\n", "\r\n")}).status_code == 303
    for label, asked in (("why <A>", f"/why/{run}?share=Analysis"), ("why <A>", f"/why/{run}?share=Analysis"),
                         ("away", "https://elsewhere.example/"), ("script", "javascript:alert(1)")):
        browser.post(f"/keep/{run}", data={"label": label, "asked": asked})
    page = browser.get(f"/run/{run}").text
    assert (results / "minimal" / "seed-1" / "notes.txt").read_text() == note
    assert "&lt;/textarea&gt;&lt;script&gt;" in page and page.count("why &lt;A&gt;") == 1
    assert f'href="/why/{run}?share=Analysis"' in page and "elsewhere" not in page and "javascript:" not in page


def test_nothing_is_kept_in_a_folder_without_a_manifest(browser, results):
    (results / "other").mkdir()
    assert browser.post("/notes/results/other", data={"notes": "x"}).status_code == 400
    assert not any((results / "other").iterdir())


def removed(browser, place):
    return browser.post(f"/remove/{place}", data={"sure": "yes"}).status_code == 303


def test_only_folders_with_a_manifest_are_deleted_and_never_through_a_link(browser, results, run, recorded, tmp_path):
    shutil.copytree(recorded, tmp_path / "outside")
    (results / "link").symlink_to(results / "minimal")
    (results / "out").symlink_to(tmp_path / "outside")
    (results / "plain").mkdir()
    (results / "fake").mkdir()
    (results / "fake" / "manifest.json").symlink_to(results / "minimal" / "seed-1" / "manifest.json")
    (results / "thesis").mkdir()
    (results / "thesis" / "manifest.json").write_text("{}")
    (results / "thesis" / "chapter.tex").write_text("years of work")
    for place in ("results", "results/minimal", "results/plain", "results/fake", "results/link/seed-1", "results/out",
                  "results/thesis", "results/../outside", "scenarios", "results/none"):
        assert not removed(browser, place), place
    assert browser.post(f"/remove/{run}", data={}).status_code == 400
    assert browser.get(f"/remove/{run}").status_code == 405
    (results / "minimal" / "seed-1" / "linked").symlink_to(tmp_path / "outside")
    assert removed(browser, run) and not (results / "minimal").exists()
    assert (tmp_path / "outside" / "jobs.parquet").exists()


def test_a_damaged_run_is_deleted_and_one_under_way_is_not(browser, results, run):
    folder = results / "minimal" / "seed-1"
    (folder / PROGRESS).write_text(json.dumps(this_process()))
    assert not removed(browser, run)
    (folder / PROGRESS).unlink()
    (folder / "manifest.json").write_text("{")
    assert removed(browser, run)


def commands(desk: Desk, **given):
    """Commands of the job that a form about `minimal` puts into the queue, in which the folder of results is `R`."""
    job = start.queued(desk, {"scenario": "scenarios/minimal.yaml", **given})
    return [" ".join(command).replace(str(desk.places.results), "R") for command in job.commands]


def test_a_form_becomes_commands(desk):
    minimal = str(desk.places.folders["scenarios"] / "minimal.yaml")
    assert commands(desk, seed="7", until="3h", settings="warm_up=1h\n\n edition=deployed ") == [
        f"run --into=R/minimal/seed-7 --seed=7 --until=3h --set=warm_up=1h --set=edition=deployed -- {minimal}"]
    assert commands(desk, kind="sweep", until="3h", vary="seed=1,2", settings="warm_up=1h", figures="wait_p50",
                    seeds="2") == [f"sweep --seeds=2 --workers={desk.queue.cores} --set=duration=3h --set=warm_up=1h "
                                   f"--vary=seed=1,2 --figure=wait_p50 --out=R/minimal-sweep -- {minimal}"]
    base, changed, compared = commands(desk, kind="against", until="3h", settings="warm_up=1h")
    assert base.endswith(f"--out=R/minimal-base-seeds --until=3h -- {minimal}")
    assert changed.endswith(f"--out=R/minimal-changed-seeds --until=3h --set=warm_up=1h -- {minimal}")
    assert compared == "compare --out=R/minimal-against-base -- R/minimal-base-seeds R/minimal-changed-seeds"
    assert [job.state for job in desk.queue.jobs()] == [WAITING] * 3


def test_what_cannot_run_is_refused_before_it_waits(browser, desk, results, tmp_path):
    (results / "mine.yaml").write_text("extends: ../secret.yaml\n")
    (tmp_path / "secret.yaml").write_text("name: secret\n")
    for given, words in (
            (dict(settings="teir=3"), "teir"), (dict(settings="policies.job_brokerage=os:system"), "unknown policy"),
            (dict(settings="agents.own=[os:system]"), "unknown agent"), (dict(kind="rm"), "expected one of"),
            (dict(settings="workload.trace.file=/etc/passwd"), "outside the folders"),
            (dict(vary="seed=1,2"), "no effect on one run"), (dict(figures="wait_p50"), "no effect on one run"),
            (dict(kind="replicate", seed="3"), "no effect on several seeds"),
            (dict(kind="sweep", seed="3", vary="warm_up=0h"), "no effect on all combinations"),
            (dict(seed="-1"), "whole number"), (dict(scenario="results/mine.yaml"), "outside the folders"),
            (dict(scenario="results/../secret.yaml"), "leads out"), (dict(scenario="/etc/passwd"), "not in a folder")):
        answer = browser.post("/start", data={"scenario": "scenarios/minimal.yaml", **given})
        assert answer.status_code == 400 and words in answer.text, (given, answer.text)
    assert desk.queue.jobs() == [] and not (results / "minimal").exists()


def test_a_run_is_laid_over_its_base(desk, results, recorded):
    for name in ("a", "b"):
        shutil.copytree(recorded, results / name / "seed-1")
    job = start.overlaid(desk, "results/b/seed-1", {"base": "results/a/seed-1"})
    assert [" ".join(command).replace(str(results), "R") for command in job.commands] == [
        "compare --out=R/minimal-seed-1-against-minimal-seed-1 -- R/a/seed-1 R/b/seed-1"]
    with_seeds = start.overlaid(desk, "results/b/seed-1", {"base": "results/a/seed-1", "seeds": "3"})
    assert [command[0] for command in with_seeds.commands] == ["replicate", "replicate", "compare"]


def test_the_form_lists_scenarios_and_keeps_what_a_link_says(browser, results):
    (results / "scenarios" / "mine").mkdir(parents=True)
    (results / "scenarios" / "mine" / "mine.yaml").write_text("")
    page = browser.get("/start?scenario=results/a%22b&settings=x%3D1&kind=sweep&vary=%3C/textarea%3E&other=1").text
    assert '<option value="results/a&#34;b" selected>' in page and "scenarios/atlas_day.yaml" in page
    assert '<option value="results/scenarios/mine/mine.yaml">' in page and "x=1" in page and "&lt;/textarea&gt;" in page
    assert 'value="sweep" checked' in page


def test_only_what_runs_is_listed_as_a_scenario(browser):
    for address in ("/start", "/scenarios", "/load"):
        page = browser.get(address).text
        assert "scenarios/minimal.yaml" in page and "snapshot.yaml" not in page, address


@pytest.mark.parametrize(("fields", "words"), [
    ({"kind": "replicate", "seeds": "none"}, "seeds = &#39;none&#39;: seeds: expected a number"),
    ({"kind": "replicate", "seeds": "99999999999"}, "at most 100,000"), ({"kind": "against", "seeds": "0"}, "above 0"),
    ({"kind": "sweep"}, "vary: a sweep needs a line")])
def test_a_study_that_cannot_begin_is_refused_before_it_waits(browser, desk, fields, words):
    answer = browser.post("/start", data={"scenario": "scenarios/minimal.yaml", **fields})
    assert answer.status_code == 400 and words in answer.text and desk.queue.jobs() == []


@pytest.mark.parametrize(("address", "words"), [
    ("/run/results", "holds no manifest.json and no study.json"), (f"/run/results/{'a' * 5000}", "File name too long"),
    ("/edit/", "no file or folder: choose one")])
def test_a_place_that_is_no_run_is_refused(browser, address, words):
    answer = browser.get(address)
    assert answer.status_code == 400 and words in answer.text


def test_a_queue_is_shown_with_what_a_job_printed(browser, desk):
    job = desk.queue.add("<i>title", [["run", "--", "a b"]], "results/a")
    (desk.queue.folder / job.name / "log.txt").write_text("<script>printed")
    assert "&lt;i&gt;title" in browser.get("/queue").text
    page = browser.get(f"/job/{job.name}").text
    assert "&lt;script&gt;printed" in page and "simgrid-broker run -- &#39;a b&#39;" in page
    before = start.signature(desk)
    assert browser.post(f"/job/{job.name}/cancel").headers["location"] == "/queue"
    assert start.signature(desk) != before and start.states(desk) == {job.name: "cancelled"}
    browser.post(f"/job/{job.name}/forget")
    assert "Nothing was started here yet" in browser.get("/queue").text


def test_events_tell_progress_and_end_with_the_server(results, monkeypatch):
    monkeypatch.setattr(start, "EVERY_S", 0.01)
    desk = control_room(results)
    job = desk.queue.add("a", [["run", f"--into={results / 'a'}", "--"]], "results/a")

    async def two():
        said = []
        async for text in start._changes(desk):
            said.append(text)
            desk.queue._end(job, "done") if len(said) == 1 else desk.closing.set()
        return said
    first, second = (json.loads(text.removeprefix("data: ")) for text in anyio.run(two))
    assert first["progress"] == {"results/a": {"part": 0, "words": "0 %", "shares": {}}} and second["progress"] == {}
    assert first["live"] != second["live"]
