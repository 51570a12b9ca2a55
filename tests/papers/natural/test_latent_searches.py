"""Latent searches: as printed where they are the paper's, always ended, the same at any width, confirmed afresh."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator
from malaprop.engine.drive import drive
from malaprop.papers.natural.search import SEARCHES
from malaprop.papers.natural.search.algorithms import Iterative, Shrinking
from malaprop.papers.natural.search.service import LatentPoints, LatentService, OtherLabel, noise, search_confirmed

DIM = 8
SMALL = {"iterative": {"samples": 200, "step": 0.1}, "hybrid": {"samples": 200, "step": 0.05}, "boundary": {}}


class Itself:
    """A manifold whose points are their own items."""

    dim, fingerprint = DIM, ""

    def invert(self, items):
        return np.asarray(items, np.float32)

    def generate(self, z):
        return z


def same(items):
    return items


def beyond(border):
    """Reached where the first coordinate passes the border: the nearest such point lies at that distance."""
    return lambda items, answers: items[:, 0] > border


def go(search, goal, many=3, width=3, victim=same, verify=None, cap=100_000):
    looks = LatentService(manifold=Itself(), victim=victim, batch=64)
    check = LatentService(manifold=Itself(), victim=verify or victim)
    start = np.zeros(DIM, np.float32)
    jobs = [(i, search_confirmed(search, start, goal, generator(0, str(i)), cap=cap)) for i in range(many)]
    found = dict(drive(jobs, {"latent": looks, "verify": check}, width=width))
    return [found[i] for i in range(many)]


@pytest.fixture(params=SEARCHES)
def search(request):
    return SEARCHES[request.param](**SMALL[request.param])


def test_a_success_is_found_and_its_distance_is_true(search):
    for result in go(search, beyond(0.5)):
        assert result.point[0] > 0.5
        assert result.distance == pytest.approx(float(np.linalg.norm(result.point)), rel=1e-5)
        assert 0.5 < result.distance < 1.5


def test_width_changes_nothing(search):
    alone, together = (go(search, beyond(0.4), many=5, width=width) for width in (1, 5))
    assert [(c.distance, c.asked) for c in alone] == [(c.distance, c.asked) for c in together]
    assert all(np.array_equal(a.point, b.point) for a, b in zip(alone, together, strict=True))


def test_what_never_changes_ends_and_says_so(search):
    (result,) = go(search, beyond(np.inf), many=1)
    assert result.point is None
    assert result.reason
    assert not result.failed
    assert result.asked <= 100_000


@pytest.mark.parametrize("cap", [1, 7, 450])
def test_the_cap_is_kept(search, cap):
    seen = []

    def victim(items):
        seen.append(len(items))
        return items

    (result,) = go(search, beyond(np.inf), many=1, victim=victim, cap=cap)
    assert result.asked == sum(seen) == cap
    assert "cap" in result.reason


def test_a_success_that_a_fresh_query_denies_is_none(search):
    (result,) = go(
        search, lambda items, answers: answers > 0.5, many=1, victim=lambda i: i[:, 0], verify=lambda i: 0 * i[:, 0]
    )
    assert result.point is None
    assert "fresh query" in result.reason


def test_a_victim_that_fails_spoils_its_own_search_alone():
    def victim(items):
        if (items[:, 1] > 50).any():
            raise RuntimeError("no such height")
        return items

    looks = LatentService(manifold=Itself(), victim=victim, batch=10_000)
    far = np.zeros(DIM, np.float32)
    far[1] = 100
    starts = {"near": np.zeros(DIM, np.float32), "far": far}
    search = Iterative(samples=50, step=0.2)
    jobs = [(name, search_confirmed(search, z, beyond(0.3), generator(0, name))) for name, z in starts.items()]
    found = dict(drive(jobs, {"latent": looks, "verify": looks}, width=2))
    assert found["near"].distance
    assert found["far"].failed
    assert "no such height" in found["far"].reason


def test_too_few_answers_are_noticed():
    (result,) = go(Iterative(samples=5, step=1), beyond(1), many=1, victim=lambda items: items[:-1])
    assert result.failed
    assert "4 answers to 5 items" in result.reason


def test_iterative_moves_shells_outward_as_printed():
    """Everything beyond distance 1 counts, so the first shell that reaches past 1 ends it."""
    radii = []

    def goal(items, answers):
        far = np.linalg.norm(items, axis=1)
        if len(items) > 1:
            radii.append((far.min(), far.max()))
        return far > 1.0

    looks = LatentService(manifold=Itself(), victim=same, batch=10_000)
    job = ("one", search_confirmed(Iterative(samples=500, step=0.3), np.zeros(DIM, np.float32), goal, generator(0)))
    ((_, result),) = drive([job], {"latent": looks, "verify": looks}, width=1)
    assert len(radii) == 4
    for turn, (low, high) in enumerate(radii):
        assert 0.3 * turn - 1e-5 <= low
        assert high <= 0.3 * (turn + 1) + 1e-5
    assert result.asked == 4 * 500 + 1
    assert 1.0 < result.distance < 1.01


def test_hybrid_follows_the_printed_ranges():
    """Beyond distance 1 all count: the first look is wide, then (0, r], then the upper halves, then inward shells."""
    spans = []

    def goal(items, answers):
        far = np.linalg.norm(items, axis=1)
        if len(items) > 1:
            spans.append((far.min(), far.max()))
        return far > 1.0

    looks = LatentService(manifold=Itself(), victim=same, batch=10_000)
    search = Shrinking(samples=400, step=0.05, reach=8.0, patience=2)
    job = ("one", search_confirmed(search, np.zeros(DIM, np.float32), goal, generator(0)))
    ((_, result),) = drive([job], {"latent": looks, "verify": looks}, width=1)
    assert spans[0][1] > 7.5
    assert spans[1][1] < 1.2  # (0, r] with r the closest of the first look
    assert spans[1][0] < 0.1
    assert result.distance == pytest.approx(1.0, abs=0.01)
    assert all(high - low <= 0.05 + 1e-4 for low, high in spans[-2:])


def test_boundary_gets_nearer_with_fewer_queries():
    hybrid = go(SEARCHES["hybrid"](samples=1000), beyond(0.5))
    ours = go(SEARCHES["boundary"](), beyond(0.5))
    assert max(c.distance for c in ours) < min(c.distance for c in hybrid)
    assert max(c.asked for c in ours) < min(c.asked for c in hybrid)
    assert max(c.distance for c in ours) < 0.55


def test_goals_of_many_clouds_see_their_own_rows():
    looks = LatentService(manifold=Itself(), victim=lambda items: np.stack([items[:, 0], 1 - items[:, 0]], 1), batch=3)
    points = np.zeros((5, DIM), np.float32)
    points[:, 0] = [0, 1, 0, 1, 1]
    asks = [[LatentPoints(points, OtherLabel(1))], [LatentPoints(points[:2], OtherLabel(0))]]
    flags = looks.finish(looks.begin(asks))
    assert flags[0][0].tolist() == [False, True, False, True, True]
    assert flags[1][0].tolist() == [True, False]


@given(low=st.floats(0, 5), width=st.floats(0.01, 5), seed=st.integers(0, 1000))
def test_norms_are_uniform_within_the_shell(low, width, seed):
    made = noise(np.random.default_rng(seed), 400, 5, low, low + width)
    norms = np.linalg.norm(made, axis=1)
    assert (norms >= low - 1e-4).all()
    assert (norms <= (low + width) * 1.0001).all()
    assert abs(norms.mean() - (low + width / 2)) < 0.1 * width


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("iterative", {"samples": 0}),
        ("iterative", {"step": 0.0}),
        ("hybrid", {"step": 3.0, "reach": 1.0}),
        ("hybrid", {"patience": 0}),
        ("boundary", {"samples": 0}),
        ("boundary", {"reach": 0}),
    ],
)
def test_settings_are_checked(kind, settings):
    with pytest.raises(SettingError):
        SEARCHES[kind](**settings)


def test_a_cap_of_nothing_is_refused():
    with pytest.raises(SettingError, match="at least 1"):
        next(search_confirmed(Iterative(), np.zeros(2, np.float32), beyond(1), generator(0), cap=0))


@pytest.mark.parametrize(
    "error", [RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB"), MemoryError()], ids=["device", "host"]
)
def test_a_batch_that_finds_no_room_is_halved(error):
    sizes = []

    def cramped(items):
        sizes.append(len(items))
        if len(items) > 10:
            raise error
        return items

    search = SEARCHES["hybrid"](**SMALL["hybrid"])
    tight, roomy = go(search, beyond(0.5), victim=cramped), go(search, beyond(0.5))
    assert [(c.distance, c.asked) for c in tight] == [(c.distance, c.asked) for c in roomy]
    assert not any(c.failed for c in tight)
    assert max(sizes) == 64


def test_other_failures_are_not_asked_again_in_halves():
    def failing(items):
        sizes.append(len(items))
        raise RuntimeError("out of order")

    sizes = []
    assert all(
        result.failed for result in go(SEARCHES["hybrid"](**SMALL["hybrid"]), beyond(0.5), many=1, victim=failing)
    )
    assert set(sizes) == {64}
