"""What blind readers found is counted from their labels: shares, agreement, and the judge beside them."""

from dataclasses import replace

import pytest
from malaprop_bench import blind

from malaprop.frame.records.outcome import Edit, Outcome, Side
from malaprop.frame.records.run import Run


def pair(read, judge=0.9, data="mr", by=(("lstm", "textfooler"),)):
    return {"read": list(read), "judge": judge, "data": data, "by": [list(one) for one in by]}


def test_a_pair_counts_for_every_attack_that_found_it_and_once_for_all():
    both = (("lstm", "pwws"), ("minilm", "textfooler"))
    held = {"pairs": [
        pair(("kept", "kept", "changed"), by=both),
        pair(("kept", "changed", "changed"), data="ag"), pair(("kept", "changed", "unclear"), data="ag"),
    ]}  # fmt: skip
    rows = {row[0]: row[1:] for row in blind.kept_rows(held)}
    assert [rows[name][0] for name in ("all", "MR", "AG News", "LSTM", "MiniLM", "`pwws`")] == [*"312311"]
    assert rows["all"][1:4] == ["1", "1", "1"], "no label has most of the readers: unclear"
    assert rows["all"][4].startswith("33.3% (1/3")
    assert rows["all"][5] == "100%, 33%, 0%"


@pytest.mark.parametrize(
    ("meaning", "same", "found"),
    [
        ("kept", "yes", "kept"),
        ("kept", "no", "changed"),
        ("changed", "yes", "changed"),
        ("kept", "unclear", "unclear"),
        ("unclear", "yes", "unclear"),
        ("unclear", "no", "changed"),
    ],
)
def test_a_pair_is_kept_if_meaning_and_label_are(meaning, same, found):
    assert blind.label(meaning, same) == found


def test_two_readers_settle_a_pair_if_they_agree():
    assert blind.settle(pair(("kept", "kept"))) == "kept"
    assert blind.settle(pair(("kept", "changed"))) == "unclear"


def test_kappa_is_agreement_beyond_chance():
    labels = [("kept", "kept")] * 4 + [("changed", "changed")] * 3 + [("kept", "changed")] * 2 + [("unclear", "kept")]
    # same 0.7; by chance (.6 * .5) + (.3 * .5) + (.1 * 0) = .45
    assert blind.find_kappa(labels) == pytest.approx((0.7 - 0.45) / (1 - 0.45))
    assert blind.find_kappa([("kept", "kept")]) == 1
    row = blind.agree_row("all", [pair(one) for one in labels])
    assert (row[:2], row[2].split()[0], row[3]) == (["all", "10"], "70.0%", "0.45")


def test_the_judge_is_right_where_it_says_what_the_readers_said():
    held = {"pairs": [
        pair(("kept", "kept"), 0.9), pair(("changed", "changed"), 0.6), pair(("changed", "kept"), 0.1),
        pair(("unclear", "unclear"), 0.1), pair(("changed", "changed"), 0.5),
    ]}  # fmt: skip
    rows = {row[0]: row[1:] for row in blind.judge_rows(held)}
    one = rows["reader 1"]
    assert (one[0], one[1]) == ("4", "1"), "unclear ones are left out"
    assert "(3/4" in one[2], "a chance of 0.5 is not kept"
    assert one[3:5] == ["75.0%", "50.0%"]
    assert "(2/2" in one[5]
    assert one[6].startswith("1.000")
    assert rows["most readers"][0] == "3"
    assert blind.verdict_rows(held) == [
        ["kept", "1", "1", "0", "0"], ["unsure", "2", "0", "2", "0"], ["changed", "2", "0", "0", "2"],
    ]  # fmt: skip


def test_a_record_has_words_and_labels_and_no_text():
    one = {
        "n": 7, "kind": "valid", "data": "mr", "id": "ab", "edits": [["film", "movie"]],
        "by": [["lstm", "pwws"]], "judge": 0.8765, "original": "a", "changed": "b",
    }  # fmt: skip
    readers = [
        [{"n": 7, "verdict": "kept", "label_same": "yes", "why": "no"}],
        [{"n": 7, "verdict": "kept", "label_same": "no"}],
    ]
    held = blind.join([one], readers, what="x")
    assert held == {"what": "x", "pairs": [{
        "id": "ab", "data": "mr", "by": [["lstm", "pwws"]], "edits": [["film", "movie"]],
        "read": ["kept", "changed"], "judge": 0.8765,
    }]}  # fmt: skip


def outcome(key, changed="a flick", status="success"):
    sides = [
        Side(fields={"text": text}, prediction=at, scores=(1.0, 0.0)) for at, text in enumerate(("a film", changed))
    ]
    return Outcome(
        id=key, status=status, label=0, original=sides[0], adversarial=sides[1], meaning=0.8, changed_share=0.5,
        edits=(Edit(field="text", slot=1, op="replace", before="film", after=changed[2:]),),
    )  # fmt: skip


def test_drawn_successes_are_distinct_and_readers_see_their_texts_alone(monkeypatch):
    run = Run(recipe="pwws", victim="LSTM-W-GloVe-1", data="mr-full:test", n=4, parts={"judge": {"floor": 0.65}})
    held = {
        "a": (run, [outcome("1"), outcome("2"), outcome("3", status="failed")]),
        "b": (replace(run, victim="BERT", recipe="textfooler"), [outcome("1"), outcome("1", "a movie")]),
        "c": (replace(run, data="ag_news:test", parts={}), [outcome(f"{n}") for n in range(9)]),
    }
    monkeypatch.setattr(blind, "find_runs", list)
    monkeypatch.setattr(blind.Run, "read", lambda folder: held[folder][0])
    monkeypatch.setattr(blind, "outcomes_of", lambda folder: held[folder][1])
    key, pairs = blind.draw(held, 6, seed=1)
    assert (key, pairs) == blind.draw(held, 6, seed=1)
    assert [one["n"] for one in key] == [one["n"] for one in pairs] == [*range(6)]
    assert {*pairs[0]} == {"n", "original", "changed"}
    kinds = [(one["kind"], one["data"]) for one in key]
    assert (kinds.count(("valid", "mr")), kinds.count(("paper", "ag"))) == (3, 3), (
        "small groups whole, the rest of others"
    )
    (both,) = [
        one for one in key if one["id"] == "1" and one["kind"] == "valid" and one["edits"] == [["film", "flick"]]
    ]
    assert both["by"] == [["lstm", "pwws"], ["minilm", "textfooler"]]
    assert both["judge"] == 0.8


def test_one_reader_alone_has_no_kappa():
    assert blind.agree_row("all", [pair(["kept"])])[3] == "-"
