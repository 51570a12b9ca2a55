import zipfile

import pytest
from malaprop_bench.nltk_data import NEEDED, PARTS, check, check_senses, gather, write_wordnets

from malaprop.core.errors import AssetError


def packed(folder, kind, name, member="file", body="x"):
    (folder / kind).mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / kind / f"{name}.zip", "w") as archive:
        archive.writestr(f"{name}/{member}", body)


def test_each_resource_comes_from_the_first_source_that_has_it(tmp_path):
    one, two, out = (tmp_path / n for n in ("one", "two", "out"))
    packed(one, "corpora", "wordnet", "data.noun", "first")
    (two / "wordnet").mkdir(parents=True)
    (two / "wordnet" / "data.noun").write_text("second")
    packed(two, "taggers", "universal_tagset")
    packed(two, "taggers", "averaged_perceptron_tagger_eng")
    gather(out, [one, two], frozenset({"the", "a"}))
    assert (out / "corpora/wordnet/data.noun").read_text() == "first"
    assert (out / "corpora/wordnet/index.sense").exists()
    assert (out / "corpora/stopwords/english").read_text() == "a\nthe\n"
    assert not any(path.stat().st_mode & 0o022 for path in out.rglob("*"))
    for tool, recipes in NEEDED.items():
        for recipe in recipes:
            check(out, tool, recipe)


def test_a_plain_folder_will_do_and_a_second_time_changes_nothing(tmp_path):
    source, out = tmp_path / "source", tmp_path / "out"
    (source / "wordnet").mkdir(parents=True)
    (source / "wordnet" / "data.noun").write_text("x")
    gather(out, [source], frozenset({"a"}))
    gather(out, [source], frozenset({"b"}))
    assert (out / "corpora/stopwords/english").read_text() == "a\n"


def test_wordnets_of_other_languages_are_written_as_nltk_reads_them(tmp_path):
    (tmp_path / "fr.txt").write_text("00001740-n\tentité\tchose\n00001741-a\tbeau", encoding="utf-8")
    write_wordnets(tmp_path / "out", tmp_path, {"fr": "fra"})
    (written,) = (tmp_path / "out/corpora").rglob("wn-data-fra.tab")
    assert written.read_text(encoding="utf-8").split("\n") == [
        "00001740-n\tfra:lemma\tentité",
        "00001740-n\tfra:lemma\tchose",
        "00001741-a\tfra:lemma\tbeau",
        "",
    ]


def test_a_wordnet_with_other_offsets_is_refused(tmp_path):
    place = tmp_path / "out/corpora/wordnet"
    place.mkdir(parents=True)
    for file in PARTS:
        (place / file).write_text("  1 a licence\n00001740 03 n 01 entity 0 000 | all\n", encoding="utf-8")
    (tmp_path / "fr.txt").write_text("00001740-n\tentité\n00001740-v\trespirer", encoding="utf-8")
    check_senses(tmp_path / "out", tmp_path, ["fr"])
    (tmp_path / "es.txt").write_text("00001740-n\tentidad\n00001741-v\trespirar", encoding="utf-8")
    with pytest.raises(AssetError, match=r"lacks 1 of the 2 senses in that of es; unset MALAPROP_DATA"):
        check_senses(tmp_path / "out", tmp_path, ["fr", "es"])


def test_what_is_missing_is_named(tmp_path):
    gather(tmp_path, [], frozenset({"a"}))
    check(tmp_path, "TextAttack", "genetic")
    with pytest.raises(AssetError, match="TextAttack's pwws needs NLTK data wordnet:"):
        check(tmp_path, "TextAttack", "pwws")
    with pytest.raises(AssetError, match="OpenAttack's genetic needs NLTK data averaged_perceptron_tagger_eng:"):
        check(tmp_path, "OpenAttack", "genetic")


def test_a_member_that_points_outside_is_refused(tmp_path):
    packed(tmp_path / "in", "corpora", "wordnet", "../../../evil")
    with pytest.raises(AssetError, match="points outside"):
        gather(tmp_path / "out", [tmp_path / "in"])
    assert not (tmp_path / "evil").exists()


def test_a_broken_archive_is_refused(tmp_path):
    (tmp_path / "in/corpora").mkdir(parents=True)
    (tmp_path / "in/corpora/wordnet.zip").write_text("no")
    with pytest.raises(AssetError, match="not a zip"):
        gather(tmp_path / "out", [tmp_path / "in"])
