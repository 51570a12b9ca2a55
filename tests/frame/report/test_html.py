"""The page as text: what it says, what it holds, and what cannot break out of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
from sample_records import outcome, sample

from malaprop.core.errors import RecordError
from malaprop.core.example import NOTHING_TO_CHANGE
from malaprop.frame.records import Outcome, Queries, Run, Side, Writer
from malaprop.frame.report import print_summary, render, write_report
from malaprop.frame.report.figures import Axis, compact
from malaprop.frame.report.markup import Markup, tag
from malaprop.frame.report.page import payload
from malaprop.frame.report.run_entries import cheapest, entries, strongest

HOSTILE = '</script><script>window.hacked=1</script><!-- "><img src=x onerror=window.hacked=1> {{data}} \u2028 \ud800'


class Page(HTMLParser):
    """Counts elements and keeps the data; complains of what is left open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.data = ""
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)
        self._data = ("id", "data") in attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.data += data if self._data else ""
        elif self.open and self.open[-1] != "style":
            self.text += f" {data}"


def say(page: str) -> str:
    return " ".join(Page(page).text.split())


def one(
    status: str, asked: int = 10, text: str = "a good film", reason: str | None = None, share: float = 0.5
) -> Outcome:
    return Outcome(
        id=f"{status}{asked}{text}",
        status=status,  # type: ignore[arg-type]
        label=1,
        original=Side({"text": text}, 1, (0.2, 0.8)),
        adversarial=Side({"text": f"{text} not"}, 0, (0.9, 0.1)) if status in ("success", "failed") else None,
        queries=Queries(asked, asked, asked),
        changed_share=share,
        reason=reason,
    )


RUN = Run(recipe="pwws", victim="toy", data="mr", n=4, labels=("neg", "pos"), started="2026-01-02T03:04:05+00:00")


def test_the_card_says_what_the_records_say() -> None:
    outcomes = [one("success", 7), one("success", 9), one("failed", 50), one("skipped", 1)]
    said = say(render([(RUN, outcomes)], "Our card"))
    assert "Our card" in said
    assert (
        "pwws succeeds on 67% of the texts that toy classifies correctly. "
        "It changes 50% of the words and sends 9 queries (median)." in said
    )
    assert "75.0% (3/4, 30.1-95.4)" in said
    assert "25.0% (1/4, 4.6-69.9)" in said
    assert "2026-01-02" in said
    assert "Errors" not in said
    assert "Cheapest attack pwws" in said


def test_the_cheapest_attack_must_break_more_than_half() -> None:
    weak = (replace(RUN, recipe="cheap"), [one("success", 1), one("failed", 1)])
    strong = (replace(RUN, recipe="dear"), [one("success", 90), one("success", 91)])
    assert cheapest(entries([weak])) is None
    found = entries([weak, strong])
    assert [e.attack for e in (cheapest(found), strongest(found)) if e] == ["dear", "dear"]
    assert "Cheapest attack none no attack breaks more than half" in say(render([weak]))


def test_a_run_without_any_attack_still_has_a_page() -> None:
    for outcomes in ([], [one("skipped")], [one("error", reason="no words")], [one("failed")]):
        page = render([(RUN, outcomes)])
        assert not Page(page).open
    assert "No attack succeeds on any of the 1 texts that toy classifies correctly" in say(
        render([(RUN, [one("failed")])])
    )
    with pytest.raises(RecordError, match="at least one run"):
        render([])


def test_errors_are_listed_with_counts() -> None:
    said = say(
        render([(RUN, [one("error", 1, reason="too <long>"), one("error", 2, reason="too <long>"), one("failed")])])
    )
    assert "2 could not be attacked" in said
    assert "toy pwws 2 too <long>" in said


def test_runs_of_one_name_are_told_apart() -> None:
    twice = [(replace(RUN, seed=seed), [one("failed")]) for seed in (1, 2)]
    assert [e.attack for e in entries(twice)] == ["pwws, seed 1", "pwws, seed 2"]
    bought = [(replace(RUN, budget=budget), [one("failed")]) for budget in (None, 9)]
    assert [e.attack for e in entries(bought)] == ["pwws, budget none", "pwws, budget 9"]
    assert [e.attack for e in entries([(RUN, []), (RUN, [])])] == ["pwws", "pwws #2"]
    both = [(replace(RUN, data=data), [one("failed")]) for data in ("mr", "imdb")]
    assert [e.victim for e in entries(both)] == ["toy on mr", "toy on imdb"]


def test_an_unfinished_run_says_so() -> None:
    assert "3 not done" in say(render([(RUN, [one("failed")])]))


def test_hostile_text_stays_text() -> None:
    run = replace(RUN, victim=HOSTILE, recipe=HOSTILE, data=HOSTILE, labels=(HOSTILE,), parts={"x": HOSTILE})
    page = render(
        [(run, [one("success", text=HOSTILE, reason=HOSTILE), one("error", text="x", reason=HOSTILE)])], HOSTILE
    )
    page.encode("utf-8")
    plain = render([(RUN, [one("success", reason="r"), one("error", text="x", reason="r")])])
    found, usual = Page(page), Page(plain)
    assert found.tags == usual.tags
    assert not found.open
    assert json.loads(found.data)["texts"][0] == [["text", HOSTILE]]
    assert "<" not in found.data
    assert "\u2028" not in found.data


def test_the_policy_allows_our_script_alone() -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', render([(RUN, [one("failed")])]))
    assert policy is not None
    assert policy[1].startswith("default-src &#x27;none&#x27;; script-src &#x27;sha256-")
    assert "http" not in policy[1]


def test_nothing_is_fetched_from_elsewhere() -> None:
    page = render(sample(5, 1, 1))
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!data:,|#)[^"']*""", page)
    assert "url(" not in page
    assert "@import" not in page


def test_a_thousand_examples_under_five_attacks_fit() -> None:
    page = render(sample(1000, 1, 5))
    assert len(page.encode()) < 5_000_000
    assert "All 5,000 outcomes are here" in page


def test_texts_beyond_the_limit_leave_successes_first() -> None:
    runs = [
        (
            replace(RUN, recipe=recipe),
            [one(status, i, f"{i} " + "word " * 2000) for i, status in enumerate(kinds * 300)],
        )
        for recipe, kinds in (("a", ("skipped", "success")), ("b", ("failed", "success")))
    ]
    page = render(runs)
    assert len(page.encode()) < 5_000_000
    rows = json.loads(Page(page).data)["rows"]
    assert f"{len(rows):,} of 1,200 outcomes are here" in page
    assert {row[2] for row in rows} == {0}
    assert abs(sum(row[0] for row in rows) - len(rows) / 2) <= 1, "the runs take turns"


def test_one_giant_text_does_not_push_the_others_out() -> None:
    found = entries([(RUN, [one("success", 1, "word " * 9000), one("success", 2), one("failed", 3)])])
    data = payload(found, limit=20_000)
    assert (data.shown, data.total) == (2, 3)


def test_texts_are_held_once() -> None:
    found = entries([(replace(RUN, recipe=name), [one("success")]) for name in ("a", "b", "c")])
    data = json.loads(payload(found).json)
    assert data["texts"] == [[["text", "a good film"]]]
    assert [row[1] for row in data["rows"]] == [0, 0, 0]
    assert data["rows"][0][10] == [[0, 11, 11, " not"]]


def test_scores_without_number_are_left_out() -> None:
    odd = replace(
        one("success"),
        original=Side({"text": "x"}, 0, (float("nan"), float("-inf"))),
        adversarial=Side({"text": "x"}, 0),
    )
    row = json.loads(payload(entries([(RUN, [odd])])).json)["rows"][0]
    assert row[6:8] == [None, None]


def test_markup_escapes_all_but_markup() -> None:
    assert tag("p", "<b>", Markup("<i>x</i>"), 3, None, class_='a"b', aria_label="c", hidden=True, id=None) == (
        '<p class="a&quot;b" aria-label="c" hidden>&lt;b&gt;<i>x</i>3</p>'
    )


def test_axes_have_a_few_round_ticks() -> None:
    assert Axis(label="", low=1, high=30_000, log=True).ticks() == [1, 10, 100, 1000, 10_000]
    assert Axis(label="", low=1, high=60, log=True).ticks() == [1, 2, 5, 10, 20, 50]
    assert [round(t, 2) for t in Axis(label="", low=0, high=0.3).ticks()] == [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
    assert [compact(x) for x in (5, 1000, 25_000, 3e6)] == ["5", "1k", "25k", "3M"]


def test_write_report_finds_runs_below(tmp_path: Path) -> None:
    for run, found in sample(3, 2, 2):
        with Writer(tmp_path / "runs" / run.victim / run.recipe, run) as writer:
            for each in found:
                writer.add(each)
    out = write_report([tmp_path / "runs"], tmp_path / "deep" / "report.html")
    page = out.read_text(encoding="utf-8")
    assert len(json.loads(Page(page).data)["runs"]) == 4
    assert [p.name for p in out.parent.iterdir()] == ["report.html"]
    assert write_report([tmp_path], tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_write_report_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no run and no record below"):
        write_report([tmp_path], tmp_path / "x.html")
    with pytest.raises(RecordError, match="no such folder"):
        write_report([tmp_path / "gone"], tmp_path / "x.html")
    with Writer(tmp_path / "run", RUN) as writer:
        writer.add(outcome(1, "pwws", "BERT"))
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match="cannot write"):
        write_report([tmp_path / "run"], tmp_path / "file" / "x.html")


def test_the_terminal_shows_a_table_for_each_victim() -> None:
    from rich.console import Console

    out = Console(file=StringIO(), width=160)
    outcomes = [one("success", 7), one("success", 9), one("failed", 50), one("skipped", 1)]
    print_summary([(RUN, outcomes), (replace(RUN, victim="[red]x", recipe="[b]y"), outcomes)], out)
    said = out.file.getvalue()  # type: ignore[attr-defined]
    assert "toy, clean accuracy 75.0% (3/4, 30.1-95.4)" in said
    assert "25.0% (1/4, 4.6-69.9)" in said
    assert "cheapest attack: pwws" in said
    assert "[red]x" in said
    assert "[b]y" in said


@pytest.mark.parametrize("width", [54, 60, 70])
def test_a_narrow_terminal_loses_no_figure_and_no_name(width: int) -> None:
    from rich.console import Console

    out = Console(file=StringIO(), width=width)
    print_summary([(RUN, [one("success", 7), one("success", 9), one("failed", 50), one("skipped", 1)])], out)
    said = out.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in said
    assert all(word in said.split() for word in ("attack", "pwws", "25.0%", "4.6-69.9)", "67%"))


def test_a_terminal_of_80_columns_breaks_lines_between_words() -> None:
    from rich.console import Console

    out = Console(file=StringIO(), width=80)
    run = replace(RUN, recipe="deepwordbug:textattack")
    outcomes = [one("success", 7), *[one("failed", 50, reason=NOTHING_TO_CHANGE)] * 20]
    print_summary([(run, outcomes)], out)
    said = out.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, said.splitlines())) <= 80
    assert {"deepwordbug:textattack", "accuracy", "nothing", "change"} <= set(said.split())
    assert not [word for word in said.split() if word in (")", "]")]


def test_reports_start_without_heavy_libraries() -> None:
    heavy = ("torch", "rich", "transformers", "scipy")
    script = f"import sys, malaprop.frame.report; print([m for m in {heavy} if m in sys.modules])"
    env = {"PYTHONPATH": str(Path(__file__).parents[3])}
    assert subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True).stdout == "[]\n"


def test_measures_have_columns_where_they_were_taken() -> None:
    outcomes = [one("success", 7), one("failed", 50)]
    assert "Similarity" not in say(render([(RUN, outcomes)]))
    said = say(render([(RUN, [replace(outcomes[0], measures={"similarity": 0.875}), outcomes[1]])]))
    assert "Similarity" in said
    assert "0.875" in said
