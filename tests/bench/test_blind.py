"""What blind readers found is counted from their labels: shares, agreement, and the judge beside them."""

import pytest
from malaprop_bench import blind


def pair(kind, read, judge=0.9, data="mr", by=(("lstm", "textfooler"),)):
    return {"kind": kind, "read": list(read), "judge": judge, "data": data, "by": [list(one) for one in by]}


def test_a_pair_counts_for_every_attack_that_found_it_and_once_for_all():
    both = (("lstm", "pwws"), ("minilm", "textfooler"))
    held = {"pairs": [pair("valid", ("kept", "kept"), by=both), pair("valid", ("kept", "changed"), data="ag")]}
    rows = {row[0]: row[1:] for row in blind.kept_rows(held)}
    assert [rows[name][0] for name in ("valid attacks", "valid, MR", "valid, LSTM", "valid, MiniLM")] == [*"2121"]
    assert [cell.split(" ")[1].split(",")[0] for cell in rows["valid attacks"][1:]] == ["(2/2", "(1/2", "(1/2", "(2/2"]
    assert "valid, CNN" not in rows, "no such pair"


def test_kappa_is_agreement_beyond_chance():
    labels = [("kept", "kept")] * 4 + [("changed", "changed")] * 3 + [("kept", "changed")] * 2 + [("unclear", "kept")]
    # same 0.7; by chance (.6 * .5) + (.3 * .5) + (.1 * 0) = .45
    assert blind.find_kappa(labels) == pytest.approx((0.7 - 0.45) / (1 - 0.45))
    assert blind.find_kappa([("kept", "kept")]) == 1
    held = {"pairs": [pair("valid", one) for one in labels] + [pair("paper", ("kept", "kept"))]}
    assert [row[1] for row in blind.agree_rows(held)] == ["10", "1", "11"]


def test_the_judge_is_right_where_it_says_what_the_reader_said():
    held = {"pairs": [
        pair("paper", ("kept", "kept"), 0.9), pair("paper", ("changed", "changed"), 0.6),
        pair("paper", ("changed", "kept"), 0.1), pair("paper", ("unclear", "unclear"), 0.1),
        pair("paper", ("changed", "changed"), 0.95, by=(("lstm", "pwws"),)),
        pair("valid", ("changed", "changed"), 0.9),
    ]}  # fmt: skip
    rows = {(row[0], row[1]): row[2:] for row in blind.judge_rows(held)}
    one = rows["`textfooler`", "reader 1"]
    assert (one[0], one[1]) == ("3", "1"), "unclear ones are left out"
    assert "(2/3" in one[2]
    assert one[3] == "66.7%"
    assert "(2/2" in one[4]
    assert one[5].startswith("1.000")
    assert rows["`textfooler`", "both alike"][0] == "2"
    assert rows["`pwws`", "reader 1"][2].startswith("0.0%")
    assert rows["`pwws`", "reader 1"][5] == ""
    assert blind.passed_rows(held, "textfooler") == [["kept", "1", "1"], ["unsure", "1", "0"], ["changed", "2", "0"]]


def test_a_record_has_words_and_labels_and_no_text():
    edit = {"field": "text", "slot": 1, "op": "replace", "from": "film", "to": "movie"}
    one = {
        "kind": "valid",
        "data": "mr",
        "text": "ab",
        "edits": [edit],
        "by": [["lstm", "pwws", "kept"]],
        "original": "a",
    }
    held = blind.join({"7": one}, [{"7": "kept"}, {"7": "unclear"}], {"7": 0.87654}, what="x")
    assert held["what"] == "x"
    assert held["pairs"] == [{
        "id": "ab", "kind": "valid", "data": "mr", "by": [("lstm", "pwws")], "edits": [["film", "movie"]],
        "read": ["kept", "unclear"], "judge": 0.8765,
    }]  # fmt: skip
