"""The page of defences says what its record of spelling restored holds."""

from __future__ import annotations

from pathlib import Path

from malaprop_bench import page, spelling

DOCS = Path(__file__).parents[2] / "docs"


def test_what_the_page_says_of_restored_spelling():
    text = (DOCS / "appendix/defences.md").read_text(encoding="utf-8")
    assert page.filled(text, DOCS / "appendix")[0] == text
    assert "spelling.jsonl spelling -->" in text
    for held in page.read(DOCS / "measured/spelling.jsonl"):
        none, spell = held["rows"]
        clean = {name: found["hits"] / found["total"] for name, found in held["whole_test"].items()}
        assert clean["purify:spell"] >= clean["none"] - 0.01  # at most a point is lost
        said = [f"{found['hits']}" for found in held["whole_test"].values()]
        assert f"is right on {said[0]} without an attack, and on {said[1]} behind the defence" in text
        assert f"an answer takes some {round(spell['cost'], -1):.0f} times as long" in text
        left = {
            attack: (one["active"], both) for attack, one, both in spelling.zip_attacks(held["attack"], none, spell)
        }
        for attack, (plain, guarded) in left.items():
            assert guarded["transferred"]["hits"] >= 0.6 * held["texts"], attack
            assert guarded["active"]["accuracy"]["hits"] > 2 * plain["accuracy"]["hits"], attack
            assert guarded["active"]["accuracy"]["hits"] >= 0.4 * held["texts"], attack  # the attack knows the defence
        guide = " ".join((DOCS / "defences.md").read_text(encoding="utf-8").split())
        alone, known = (
            [100 * one["accuracy"]["hits"] / held["texts"] for one in some]
            for some in (
                [plain for plain, _ in left.values()],
                [guarded["active"] for _, guarded in left.values()],
            )
        )
        found = (
            f"with `purify:spell` the LSTM classifies {min(known):.1f}% to {max(known):.1f}% correctly, "
            f"depending on the attack; without it {min(alone):.1f}% to {max(alone):.1f}%"
        )
        assert found in guide
