"""The table of synonyms: which words it has, what it learns, how it scores, what it leaves out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import tiny

from malaprop.assets import synonyms, yardsticks
from malaprop.assets.relations import Relations
from malaprop.assets.synonyms import Links, Mixture, Opposed, Synonyms, choose_words, read, score_with, write
from malaprop.core.errors import SettingError

SYNSETS = {
    "noun": [
        ("00000001", "n", ["film", "movie"], [("00000003", "n", 0, 0, "@")]),
        ("00000002", "n", ["play"], [("00000003", "n", 0, 0, "@")]),
        ("00000003", "n", ["show"], []),
        ("00000004", "n", ["Paris"], []),
        ("00000005", "n", ["oil", "petroleum"], []),
    ],
    "verb": [("00000001", "v", ["see", "watch"], []), ("00000002", "v", ["win"], []), ("00000003", "v", ["wine"], [])],
    "adj": [
        ("00000001", "a", ["good"], [("00000002", "a", 1, 1)]),
        ("00000002", "a", ["bad"], [("00000001", "a", 1, 1)]),
        ("00000003", "a", ["funny", "amusing"], [("00000004", "a", 0, 0, "&")]),
        ("00000004", "s", ["comical"], [("00000003", "a", 0, 0, "&")]),
    ],
    "adv": [],
}  # fmt: skip
WORDS = ["film", "movie", "play", "show", "oil", "petroleum", "good", "bad", "funny", "amusing", "comical", "films"]
PLACE = {word: number for number, word in enumerate(WORDS)}


@pytest.fixture(scope="module")
def relations(tmp_path_factory) -> Relations:
    folder = tmp_path_factory.mktemp("synonyms")
    return Relations(tiny.wordnet(folder, SYNSETS), folder / "wordnet")


@pytest.fixture
def table() -> Synonyms:
    """Funny with three neighbours, one of another form; its row ends in funny itself."""
    words = ["funny", "amusing", "comical", "comedies"]
    near = np.asarray([[1, 3, 2, 0], [0, 1, 1, 1], [0, 2, 2, 2], [3, 3, 3, 3]], np.int32)
    scores = np.asarray([[230, 200, 102, 0], [230, 0, 0, 0], [102, 0, 0, 0], [0, 0, 0, 0]], np.uint8)
    return Synonyms(words, near, scores, np.asarray([1, 3, 1, 4], np.uint16))


def test_words_of_the_table(relations):
    words = ["the", "paris", "film", "films", "qqq", "gooder", "wins", "wined", "watches"]
    assert choose_words(words, relations.wordnet) == ["film", "films", "wins", "wined", "watches"]


def test_near_by_floor_count_and_form(table):
    assert table.near("Funny", floor=0.3) == [("amusing", pytest.approx(230 / 255)), ("comical", pytest.approx(0.4))]
    assert [word for word, _ in table.near("funny", floor=0.3, same_form=False)] == ["amusing", "comedies", "comical"]
    assert [word for word, _ in table.near("funny", count=1, floor=0.3)] == ["amusing"]
    assert [word for word, _ in table.near("funny", floor=0.5)] == ["amusing"]
    assert table.near("unknown") == []
    assert table.near("comedies", floor=0.01) == []  # the word itself fills its row, and is no neighbour
    for count, floor in ((0, 0.5), (5, 0.0), (5, 1.5)):
        with pytest.raises(SettingError, match="near needs"):
            table.near("funny", count, floor)


def test_the_score_of_two_words(table):
    assert table.score("Funny", "comedies") == table.score("comedies", "funny") == pytest.approx(200 / 255)
    assert table.score("amusing", "comical") == table.score("funny", "unknown") == table.score("funny", "funny") == 0


def test_links_grow_with_what_words_share(relations):
    overlap = Links(WORDS, relations).overlap(np.asarray([PLACE["film"], PLACE["funny"]])).numpy()
    film = {word: float(overlap[0, number]) for word, number in PLACE.items()}
    assert film["film"] == pytest.approx(1, abs=1e-5)
    assert film["movie"] == pytest.approx(1, abs=1e-5)
    assert film["films"] > 0.9
    assert film["movie"] > film["play"] > film["oil"] == 0
    assert overlap[1, PLACE["amusing"]] > overlap[1, PLACE["comical"]] > 0


def test_the_map_draws_synonyms_together_and_says_so_of_pairs_it_has_not_seen():
    rng = np.random.default_rng(0)
    meaning = np.repeat(rng.normal(size=(40, 6)), 2, axis=0)  # two words of each meaning
    noise = 2 * rng.normal(size=(80, 10))
    given = np.concatenate([meaning, noise], 1).astype(np.float32)
    pairs = np.arange(80).reshape(40, 2)
    settings = Mixture(width=8, steps=60, batch=64, rate=0.02)
    none = np.empty((0, 2), np.int64)
    learnt, again = (settings.learn(given, pairs[:30], none) for _ in range(2))
    assert (learnt == again).all()
    unseen = pairs[30:]
    plain = given / np.linalg.norm(given, axis=1, keepdims=True)
    before, after = (yardsticks.mean_cosine(one, unseen) for one in (plain, learnt))
    assert after > before + 0.2
    apart = settings.learn(given, pairs[:30], unseen[:5])
    assert yardsticks.mean_cosine(apart, unseen[:5]) < yardsticks.mean_cosine(learnt, unseen[:5])
    assert np.linalg.norm(settings.learn(given, none, none), axis=1) == pytest.approx(np.ones(80), abs=1e-5)


def test_opposed_words(relations):
    opposed = Opposed(WORDS, relations, {"funny": 1.9, "play": -1.0, "oil": -0.2, "film": 0.3})
    said = {(a, b) for a in WORDS for b in WORDS if opposed(PLACE[a], PLACE[b])}
    assert {("good", "bad"), ("bad", "good"), ("funny", "play")} <= said
    assert said.isdisjoint({("film", "play"), ("funny", "oil"), ("funny", "comical")})


def test_the_ranking_leaves_out_opposed_words_and_low_scores():
    scores = np.asarray([[1, 0.9, 0.8, 0.4, 0.1], *np.eye(5)[1:]], np.float32)
    table, kept = synonyms.rank(5, lambda rows: scores[rows].copy(), lambda one, two: (one, two) == (0, 1), Mixture())
    assert table[0, :4].tolist() == [2, 3, 0, 0]
    assert kept[0, :4].tolist() == [204, 102, 0, 0]
    assert not kept[1:].any()


def test_built_from_a_dozen_words(relations, tmp_path, monkeypatch):
    monkeypatch.setattr(synonyms, "open_wordnet", lambda: relations.wordnet)
    monkeypatch.setattr(synonyms, "open_relations", lambda: relations)
    monkeypatch.setenv("MALAPROP_DATA", str(measures(tmp_path / "data")))
    ratings = tmp_path / "vader_lexicon.txt"
    ratings.write_text("good\t1.9\t0.9\t[2]\nbad\t-2.5\t0.7\t[-2]\n:)\t2.0\t1\t[2]\n")
    meanings = np.asarray([0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 6, 0])
    draw = [np.random.default_rng(seed).normal for seed in (0, 1)]
    encoded = [(one(size=(7, 12))[meanings] + 0.2 * one(size=(12, 12))).astype(np.float32) for one in draw]
    paths = [tmp_path / "one.npz", tmp_path / "two.npz"]
    check, again = (synonyms.build(path, WORDS, encoded, ratings, Mixture(batch=16, steps=40)) for path in paths)
    made = read(paths[0])
    assert "movie" in dict(made.near("film", floor=0.36))
    assert "films" not in dict(made.near("film", floor=0.36))
    assert "films" in dict(made.near("film", floor=0.36, same_form=False))
    assert "bad" not in dict(made.near("good", floor=0.01))
    assert check == again
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert (check["words"], check["simlex_pairs"], check["published_words"]) == (12, 4, 2)
    assert check["simlex"] > 0.5
    assert (check["antonyms_beside"], check["antonyms_asked"]) == (0, 1)


def measures(root: Path) -> Path:
    """Writes the files that tables are measured by: four pairs, two lists of neighbours, one pair of antonyms."""
    folder = root / "counter_fitting"
    folder.mkdir(parents=True)
    pairs = [
        ("film", "movie", 9),
        ("funny", "amusing", 8),
        ("film", "oil", 1),
        ("play", "oil", 0.5),
        ("film", "qqq", 1),
    ]
    rows = "".join(f"{one}\t{two}\tN\t{rating}\t0\n" for one, two, rating in pairs)
    (folder / "SimLex-999.txt.gz").write_bytes(gzip.compress(f"word1\tword2\tPOS\tSimLex999\t\n{rows}".encode()))
    lists = {"film": ["movie", "flick"], "oil": ["petroleum"], "qqq": ["film"], "play": ["qqq"]}
    (folder / "counterfitted_neighbors_k8.json.gz").write_bytes(gzip.compress(json.dumps(lists).encode()))
    (folder / "ppdb_antonyms.txt.gz").write_bytes(gzip.compress(b"good bad\nbad good\nqqq good\n"))
    return root


def test_measures_of_a_table(table, tmp_path, monkeypatch):
    monkeypatch.setenv("MALAPROP_DATA", str(tmp_path))
    folder = tmp_path / "counter_fitting"
    folder.mkdir()
    assert yardsticks.outside_table(table, lambda rows: np.zeros((len(rows), 4)), 0.45) == {}
    lists = {"funny": ["amusing", "comical", "qqq"], "amusing": ["comical"]}
    (folder / "counterfitted_neighbors_k8.json.gz").write_bytes(gzip.compress(json.dumps(lists).encode()))
    (folder / "wordnet_antonyms.txt.gz").write_bytes(gzip.compress(b"amusing funny\ncomical funny\namusing comical\n"))
    found = yardsticks.outside_table(table, lambda rows: np.zeros((len(rows), 4)), 0.45)
    assert found["published_in_8"] == pytest.approx(2 / 3, abs=1e-4)
    assert (found["antonyms_beside"], found["antonyms_asked"]) == (1, 3)  # comical is below the floor


def test_written_and_read_again(relations, tmp_path, table):
    path, scores = tmp_path / "table.npz", np.asarray([[255, 0], [204, 102]], np.uint8)
    write(path, WORDS[:2], np.asarray([[1, 0], [0, 1]], np.int32), scores, relations.wordnet)
    again = read(path)
    assert again.words == ["film", "movie"]
    assert again.near("film", 1) == [("movie", 1.0)]
    assert again.table.tolist() == [[1, 0], [0, 1]], "a row with fewer neighbours ends in the word itself"
    assert again.cosines[0].tolist() == [1.0, 0.0]


def test_scores_mix_cosines_and_links(relations):
    vectors = np.eye(len(WORDS), dtype=np.float32)
    score = score_with(vectors, Links(WORDS, relations), 0.5)(np.asarray([0]))[0]
    assert score[PLACE["film"]] == pytest.approx(1, abs=1e-5)
    assert score[PLACE["movie"]] == pytest.approx(1 / 3, abs=1e-4)
    assert score[PLACE["oil"]] == 0
