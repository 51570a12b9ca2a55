"""Certificates are written as they come: a kill loses none, and what goes on comes to the same."""

from __future__ import annotations

import platform
from dataclasses import replace

import pytest
import toy
from killed import until_done

from malaprop.core.errors import RecordError
from malaprop.data.base import Dataset
from malaprop.defences import certificates
from malaprop.defences.certificates import write_certificates
from malaprop.defences.certify import Certifier, noise_of
from malaprop.defences.wrap import defend
from malaprop.records.certified import CertifiedRecord, read_certificates

CERTIFIER = Certifier(samples=30, select=10)


def certify(folder, *, resume, certifier=CERTIFIER, spec="ranmask:keep=0.5", n=9, seen=lambda line: None):
    victim = defend(spec, toy.victim())
    examples = tuple(toy.some_examples(n))
    data = Dataset(name="toy", examples=examples, labels=("bad", "good"), fields=("text",))
    return write_certificates(certifier, victim, noise_of(victim), data, folder, resume=resume, seen=seen)


@pytest.fixture
def one_at_a_time(monkeypatch):
    monkeypatch.setattr("malaprop.defences.certify._AT_ONCE", 40)
    monkeypatch.setattr(certificates, "_EVERY", 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_killed_within_any_write_it_comes_to_the_same(tmp_path, one_at_a_time, seed):
    whole, lines = certify(tmp_path / "whole", resume=False)
    killed = until_done(lambda resume: certify(tmp_path / "torn", resume=resume), seed)
    assert read_certificates(tmp_path / "torn") == lines
    assert replace(CertifiedRecord.read(tmp_path / "torn"), seconds=0) == replace(whole, seconds=0)
    assert killed
    assert not [path.name for path in (tmp_path / "torn").iterdir() if platform.node() in path.name]


def test_lines_are_on_disk_before_the_next_text_is_asked(tmp_path, one_at_a_time):
    on_disk = []
    certify(tmp_path, resume=False, seen=lambda line: on_disk.append(len(read_certificates(tmp_path))))
    assert on_disk == list(range(1, 10))


def test_what_was_killed_has_a_record_of_what_it_came_to(tmp_path, one_at_a_time):
    def stop(line):
        if len(read_certificates(tmp_path)) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certify(tmp_path, resume=False, seen=stop)
    assert CertifiedRecord.read(tmp_path).clean.total == 3


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"resume": False}, "already holds 9 certificates; pass --resume"),
        ({"certifier": replace(CERTIFIER, alpha=0.01)}, "alpha is 0.01 here and 0.05 there"),
        ({"certifier": replace(CERTIFIER, seed=1)}, "seed is 1 here and 0 there"),
        ({"spec": "ranmask:keep=0.3"}, "here and 'ranmask:keep=0.5' there"),
        ({"n": 8}, "n is 8 here and 9 there"),
    ],
)
def test_certificates_are_neither_emptied_nor_mixed(tmp_path, more, said):
    certify(tmp_path, resume=False)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(RecordError, match=said):
        certify(tmp_path, **{"resume": True, **more})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
