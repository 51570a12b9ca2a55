"""Compare heads of the judge of meaning with the packaged one, each on pairs that it has not learnt from.

python -m malaprop_bench.compareheads RECORD.json HEAD.npz... [--data ../shared/data]

`malaprop_bench.judgehead` made the heads, the first with the seed 0, the next with 1, and so on. We do not know which
pairs the packaged head learnt from: some of those held out here may be among them.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malaprop.core.example import content_id
from malaprop.core.judgement import Judgement, verdict
from malaprop.core.score import Floats
from malaprop.features.defending.detection.rates import find_auc
from malaprop.models.encoders.differences import has_unlikely_synonym
from malaprop.models.encoders.judge import DIGITS, DOUBT, Head, PackagedJudge, open_judge
from malaprop_bench import blind, machine
from malaprop_bench.judgehead import DATA, Flags, Rows, read_numbers, read_vectors
from malaprop_bench.judgepairs import Pair, draw, read_rows

_BANDS = (0, 0.1, 0.35, 0.65, 0.9, 1)
_VERDICTS = ("kept", "unsure", "changed")
_DRAWN = 2000  # samples of a bootstrap
_WAYS = 32  # in which a text is put together, at most
_NEAR = 0.001  # of the recorded chance
_READ = Path(__file__).parents[2] / "docs/measured/judge-textfooler.json"
_READ_TEXTS = ("mr/mr_all.jsonl.gz", "ag_news/test.jsonl.gz")


def compare(judge: PackagedJudge, new: Head, pairs: Sequence[Pair], vectors: Floats, seed: int = 0) -> dict[str, Any]:
    """Return how well the judge's own head and a new one tell held-out pairs apart, and how far they agree.

    AUC and bands are those of the heads alone; the verdicts are the judge's, with its rule on synonyms.
    """
    kept = np.asarray([pair.kept for pair in pairs])
    groups = np.unique([pair.group for pair in pairs], return_inverse=True)[1]
    most = np.asarray([DOUBT if has_unlikely_synonym(pair.original, pair.changed) else 1 for pair in pairs])
    chances, said = {}, {}
    for name, head in {"shipped": judge.head, "new": new}.items():
        found = head.chance(vectors, read_numbers(pairs, head.polarity)).astype(np.float64)
        chances[name], said[name] = found, [*map(verdict, np.minimum(found.round(DIGITS), most).tolist())]
    alike = np.asarray(said["shipped"]) == np.asarray(said["new"])
    sources = {}
    for name, wanted in _sources(pairs).items():
        sources[name] = {
            "kept": int(kept[wanted].sum()), "changed": int((~kept[wanted]).sum()),
            **_beside({head: one[wanted] for head, one in chances.items()}, kept[wanted], groups[wanted], seed),
            "alike": int(alike[wanted].sum()),
        }  # fmt: skip
    bands = {name: _bands(one, kept) for name, one in chances.items()}
    return {"sources": sources, "reliability": bands, "verdicts": _cross(said["shipped"], said["new"], _VERDICTS)}


def _sources(pairs: Sequence[Pair]) -> dict[str, NDArray[np.int64]]:
    """Return the places of the pairs of each source; sentences of reviews stand against made pairs that are kept."""

    def find(*sources: str, kept: Sequence[str] = ()) -> NDArray[np.int64]:
        return np.asarray(
            [i for i, one in enumerate(pairs) if one.source in sources or (one.source in kept and one.kept)]
        )

    found = {name: find(name) for name in ("breaking_nli", "sick", "sts")}
    found |= {"word swaps": find("swaps"), "review sentences": find("reviews", kept=("swaps", "typos"))}
    found["all"] = np.arange(len(pairs))
    return {name: some for name, some in found.items() if len({pairs[i].kept for i in some.tolist()}) > 1}


def _beside(chances: Mapping[str, Rows], kept: Flags, groups: NDArray[Any], seed: int) -> dict[str, Any]:
    """Return the AUC of both heads and how much higher the new one's is, with 95% intervals: groups are drawn again."""
    rng, members = np.random.default_rng(seed), [np.flatnonzero(groups == one) for one in np.unique(groups)]
    drawn = [np.arange(len(kept))]
    while len(drawn) <= _DRAWN:
        some = np.concatenate([members[at] for at in rng.integers(len(members), size=len(members))])
        drawn += [some] if 0 < kept[some].sum() < len(some) else []
    found = {name: np.asarray([_find_area(one[some], kept[some]) for some in drawn]) for name, one in chances.items()}
    found["difference"] = found["new"] - found["shipped"]
    return {
        name: {"auc": _round(one[0]), "interval": [*map(_round, np.quantile(one[1:], (0.025, 0.975)))]}
        for name, one in found.items()
    }


def _round(value: float) -> float:
    return round(float(value), 3) + 0.0  # no minus before a zero


def _find_area(chances: Rows, kept: Flags) -> float:
    return find_auc(chances[~kept].tolist(), chances[kept].tolist()).value


def _bands(chances: Rows, kept: Flags) -> list[dict[str, Any]]:
    which = np.digitize(chances, _BANDS[1:-1])
    return [
        {"low": low, "high": high, "pairs": int((which == at).sum()), "kept": int(kept[which == at].sum())}
        for at, (low, high) in enumerate(pairwise(_BANDS))
    ]


def _cross(ones: Sequence[str], twos: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Count for each verdict in `ones` how often `twos` says which of `names`."""
    both = Counter(zip(ones, twos, strict=True))
    return {one: {two: both[one, two] for two in names} for one in _VERDICTS}


def compare_read(judge: PackagedJudge, new: Head, data: Path, seed: int = 0) -> dict[str, Any]:
    """Return the same of the successes of an attack that a reader labelled; the judge's rule holds throughout.

    The record of these has no texts: they are put together from the data and the edits. A pair counts if the judge's
    own head gives it the chance of the record.
    """
    read = json.loads(_READ.read_text(encoding="utf-8"))["pairs"]
    rows = [row for file in _READ_TEXTS for row in read_rows(data / file)]
    texts = {content_id({"text": row["text"]}, row["label"]): row["text"] for row in rows}
    pairs, labels = [], []
    for one in read:
        text = texts[one["id"].partition("-")[0]]
        ways = [Judgement(text, changed) for changed in islice(put_edits(text, one["edits"]), _WAYS)]
        same = [way for way, chance in zip(ways, judge.kept(ways), strict=True) if abs(chance - one["judge"]) < _NEAR]
        pairs += same[:1]
        labels += [blind.settle(one)] * len(same[:1])
    found = {"shipped": judge.kept(pairs), "new": _judge_with(new, judge, pairs)}
    said = {name: [*map(verdict, one)] for name, one in found.items()}
    clear, kept = (np.asarray(one) for one in ([one != "unclear" for one in labels], [one == "kept" for one in labels]))
    chances = {name: np.asarray(one)[clear] for name, one in found.items()}
    verdicts = _cross(said["shipped"], said["new"], _VERDICTS)
    return {
        "read": len(read), "put_together": len(pairs),
        "kept": int(kept[clear].sum()), "changed": int((~kept[clear]).sum()),
        **_beside(chances, kept[clear], np.arange(clear.sum()), seed),
        "right": {name: int(((one > DOUBT) == kept[clear]).sum()) for name, one in chances.items()},
        "alike": sum(verdicts[name][name] for name in _VERDICTS), "verdicts": verdicts,
        "labels": {name: _cross(one, labels, blind.VERDICTS) for name, one in said.items()},
    }  # fmt: skip


def _judge_with(head: Head, judge: PackagedJudge, pairs: Sequence[Judgement]) -> list[float]:
    own, judge.head = judge.head, head
    try:
        return judge.kept(pairs)
    finally:
        judge.head = own


def put_edits(text: str, edits: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the text with its words replaced, in every way in which the edits fit into it in their order."""
    if not edits:
        yield text
        return
    (old, new), *rest = edits
    for found in re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", text):
        for end in put_edits(text[found.end() :], rest):
            yield text[: found.start()] + new + end


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m malaprop_bench.compareheads", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("record", type=Path)
    parser.add_argument("heads", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args(words)
    judge, runs = open_judge(), []
    for seed, head in enumerate(map(Head, given.heads)):
        drawn = draw(given.data, seed)
        held = [pair for pair in drawn if pair.held]
        about = {"seed": seed, "trained": len(drawn) - len(held), "held_out": len(held)}
        found = compare(judge, head, held, read_vectors(judge, held), seed)
        runs.append({**about, **found, "textfooler": compare_read(judge, head, given.data, seed)})
    record = {**machine.describe("cpu"), "runs": runs}
    given.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
