"""The pages of a study, as a browser without JavaScript uses them."""

from __future__ import annotations

import re
import sqlite3

import pytest
from tiny_study import TYPO, two_runs, write_run

pytest.importorskip("fastapi")
from starlette.testclient import TestClient

from malaprop.core.errors import RecordError
from malaprop.features.humans import server
from malaprop.features.humans.export import Design, export
from malaprop.features.humans.study import RatingStudy, connect

HOSTILE = '<script>window.hacked=1</script><img src=x onerror="window.hacked=1"> good'


@pytest.fixture
def path(tmp_path):
    export([two_runs(tmp_path / "runs")], tmp_path / "study.db", Design(items=3, seed=2, checks=1))
    return tmp_path / "study.db"


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("malaprop.features.humans.study.WAIT", 0.2)


@pytest.fixture
def site(path):
    app, study = server.make_app(path)
    with TestClient(
        app, base_url="http://127.0.0.1", follow_redirects=False, headers={"accept": "text/html"}
    ) as client:
        client.study, client.links = study, server.personal_links(study)
        yield client


def total(site, name="r1"):
    return len(site.study.turns[int(name[1:])])


def post(site, place, value, *, name="r1", change=False, **more):
    data = {"answer": value} | ({"change": "1"} if change else {})
    return site.post(f"{site.links[name]}/{place}", data=data, **more)


def choices(page):
    return re.findall(r'name="answer" value="(\w)"', page)


def stored(path):
    base = sqlite3.connect(path)
    found = base.execute("SELECT rater, item, value FROM answers ORDER BY rater, item").fetchall()
    base.close()
    return found


def test_a_rater_goes_from_start_to_thanks(site, path):
    link = site.links["r1"]
    page = site.get(link)
    assert page.status_code == 200
    assert "Thank you for taking part" in page.text
    for place in range(1, total(site) + 1):
        page = site.get(f"{link}/{place}")
        assert page.status_code == 200
        assert f"Item {place} of {total(site)}" in page.text
        answer = post(site, place, choices(page.text)[0])
        assert answer.status_code == 303
        assert len(stored(path)) == place, "the answer is in the file before the next page is asked for"
        wanted = f"{link}/{place + 1}" if place < total(site) else link
        assert answer.headers["location"] == wanted
    assert "that was all" in site.get(link).text


def test_resume_goes_to_the_first_item_without_an_answer(site):
    post(site, 1, "1")
    page = site.get(site.links["r1"])
    assert "Welcome back" in page.text
    assert f'href="{site.links["r1"]}/2"' in page.text


def test_back_shows_the_answer_and_lets_it_change(site, path):
    first = choices(site.get(f"{site.links['r1']}/1").text)
    post(site, 1, first[0])
    page = site.get(f"{site.links['r1']}/1").text
    assert re.search(rf'value="{first[0]}"[^>]* checked', page)
    assert 'name="change"' in page
    assert post(site, 1, first[1], change=True).status_code == 303
    assert len(stored(path)) == 1
    base = sqlite3.connect(path)
    assert base.execute("SELECT count(*) FROM changes").fetchone() == (1,), "what was changed is kept"
    base.close()


def test_an_answer_posted_twice_counts_once(site, path):
    assert post(site, 1, "1").headers["location"] == post(site, 1, "1").headers["location"]
    assert len(stored(path)) == 1


def test_another_answer_from_an_old_page_does_not_overwrite(site, path):
    values = choices(site.get(f"{site.links['r1']}/1").text)
    post(site, 1, values[0])
    before = stored(path)
    again = post(site, 1, values[1])
    assert again.status_code == 409
    assert "your first answer stands" in again.text
    assert stored(path) == before


def test_answers_come_in_order(site, path):
    early = post(site, 3, "1")
    assert early.status_code == 409
    assert "Item 1 comes first" in early.text
    assert site.get(f"{site.links['r1']}/3").headers["location"].endswith("/1")
    assert stored(path) == []


@pytest.mark.parametrize("value", ["", "9", "a", "1' OR 1", "\x00", "é"])
def test_what_was_no_choice_is_not_saved(site, path, value):
    page = post(site, 1, value)
    assert page.status_code == 400
    assert "nothing was saved" in page.text
    assert stored(path) == []


@pytest.mark.parametrize("link", ["/r/1", "/r/1.", "/r/1.wrong", "/r/99.x", "/r/x.y", "/r/1.wrong/1", "/r/².x"])
def test_a_broken_link_says_so(site, link):
    page = site.get(link)
    assert page.status_code == 404
    assert "whole link" in page.text


def test_a_place_beyond_the_list(site):
    assert site.get(f"{site.links['r1']}/999").status_code == 404
    assert site.get(f"{site.links['r1']}/0").status_code == 404
    assert site.get(f"{site.links['r1']}/abc").status_code == 400


def test_one_rater_cannot_answer_for_another(site, path):
    own = site.links["r1"].rpartition(".")[2]
    assert site.post(f"/r/2.{own}/1", data={"answer": "1"}).status_code == 404
    assert stored(path) == []


def test_a_post_of_a_megabyte_is_refused(site, path):
    page = post(site, 1, "1" * 1_000_000)
    assert page.status_code == 413
    assert "too much text" in page.text
    assert stored(path) == []


def test_guessing_is_slowed_down(site):
    codes = [site.get(f"/r/1.guess{n}").status_code for n in range(40)]
    assert codes[0] == 404
    assert codes[-1] == 429
    assert site.get(site.links["r1"]).status_code == 200, "who has a link is not kept out by those who guess"


def test_a_locked_study_keeps_the_answer_on_the_page(impatient, site, path):
    other = connect(path, write=True)
    other.execute("BEGIN IMMEDIATE")
    page = post(site, 1, "1")
    assert page.status_code == 503
    assert "not saved yet" in page.text
    assert re.search(r'name="answer" value="1"', page.text)
    assert str(path) not in page.text
    other.execute("ROLLBACK")
    other.close()
    assert post(site, 1, "1").status_code == 303
    assert len(stored(path)) == 1


def test_the_admin_page_wants_its_token(site):
    assert "Token" in site.get("/admin").text
    wrong = site.post("/admin", data={"token": "guess"})
    assert wrong.status_code == 403
    assert "not the token" in wrong.text
    right = site.post("/admin", data={"token": site.study.facts.admin})
    assert right.status_code == 303
    cookie = right.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    post(site, 1, "1")
    post(site, 1, "1", name="r2")
    page = site.get("/admin").text
    assert f"2 of {3 * total(site)} answers" in page
    assert "synonym" not in page
    for rater in site.study.raters().values():
        assert rater.secret not in page


def test_no_page_names_a_recipe_or_a_system(site):
    link = site.links["r1"]
    for place in range(1, total(site) + 1):
        page = site.get(f"{link}/{place}").text
        assert "typo" not in page
        assert "synonym" not in page
        assert "toy" not in page
        post(site, place, choices(page)[0])


def test_headers_and_escaping(tmp_path):
    runs = write_run(tmp_path / "runs", "typo", TYPO, texts=[HOSTILE], labels=("<b>neg</b>", '"><script>'))
    export([runs], tmp_path / "study.db", Design(ask=("meaning", "label"), checks=0, raters=1))
    app, study = server.make_app(tmp_path / "study.db")
    with TestClient(app, base_url="http://127.0.0.1", follow_redirects=False) as client:
        (link,) = server.personal_links(study).values()
        for place in (1, 2):
            page = client.get(f"{link}/{place}")
            assert "<script>window" not in page.text
            assert "<img" not in page.text
            assert "<b>neg" not in page.text
            assert "&lt;script&gt;window" in page.text
            policy = page.headers["content-security-policy"]
            assert "unsafe-inline" not in policy
            assert "default-src 'none'" in policy
            assert page.headers["cache-control"] == "no-store"
            assert " style=" not in page.text
            client.post(f"{link}/{place}", data={"answer": "1"})


def test_a_study_that_cannot_be_written_is_told_at_the_start(impatient, path):
    other = connect(path, write=True)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(RecordError, match="locked by another process"):
        server.make_app(path)
    other.execute("ROLLBACK")
    other.close()


def test_after_the_server_the_study_is_one_plain_file(path, tmp_path):
    app, study = server.make_app(path)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        client.post(f"{server.personal_links(study)['r1']}/1", data={"answer": "1"})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["runs", "study.db"]
    with RatingStudy(path) as again:
        assert len(again.answers()) == 1


def test_what_is_no_study_is_not_touched(tmp_path):
    base = sqlite3.connect(tmp_path / "other.db")
    base.execute("CREATE TABLE t (x)")
    base.commit()
    base.close()
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(RecordError, match="is not a study"):
        server.make_app(tmp_path / "other.db")
    assert (tmp_path / "other.db").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["other.db"]
