"""The training loop: it learns, it repeats itself, it stops, and hooks reach into it."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from malaprop.core.errors import SettingError
from malaprop.models.padded_rows import Placed, Ragged
from malaprop.training.folder import TrainingFolder
from malaprop.training.seeds import seeded
from malaprop.zoo.blocks.cnn import WordCNN
from malaprop.zoo.training import Hooks, Rows, Training, _order, cross_entropy, evaluate, fit


def rows(count, seed):
    """Texts of words 3 to 9; the label says whether word 9 is there."""
    rng = np.random.default_rng(seed)
    tokens = [rng.integers(3, 9, rng.integers(1, 12)).tolist() for _ in range(count)]
    labels = [i % 2 for i in range(count)]
    return Rows([[*t, 9] if y else t for t, y in zip(tokens, labels, strict=True)], labels)


TRAIN, HELD_OUT = rows(200, 0), rows(60, 1)
QUICK = Training(epochs=6, rate=1e-2, batch=16)


def fresh(seed=0):
    with seeded(seed):
        return WordCNN(10, 2, dim=8, filters=8, dropout=0.1)


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_it_learns_and_leaves_the_best_weights():
    model = fresh()
    heard = []
    fitted = fit(model, TRAIN, HELD_OUT, QUICK, hooks=Hooks(epoch=heard.append))
    assert fitted.accuracy > 0.95
    assert evaluate(model, HELD_OUT)[0] == pytest.approx(fitted.accuracy)
    assert fitted.accuracy == max(e.accuracy for e in fitted.epochs)
    assert heard == fitted.epochs
    assert not model.training


def test_the_same_seed_gives_the_same_weights_and_leaves_the_stream_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    one, two, three = fresh(), fresh(), fresh()
    for model, seed in ((one, 0), (two, 0), (three, 1)):
        fit(model, TRAIN, HELD_OUT, Training(epochs=2, rate=1e-2), seed=seed)
    assert torch.equal(weights(one), weights(two))
    assert not torch.equal(weights(one), weights(three))
    assert torch.equal(torch.rand(1), expected)


def test_it_stops_when_nothing_gets_better():
    frozen = Training(epochs=9, rate=1e-9, patience=2)
    assert len(fit(fresh(), TRAIN, HELD_OUT, frozen).epochs) <= 5


def test_rates_of_parts():
    model = fresh()
    before = model.embedding.weight.clone(), model.head.weight.clone()
    fit(model, TRAIN, HELD_OUT, Training(epochs=1, rates=(("embedding", 0.0),)))
    assert torch.equal(model.embedding.weight, before[0])
    assert not torch.equal(model.head.weight, before[1])


def test_hooks_change_batches_and_the_loss():
    seen = []

    def doubled(batch):
        twice = [torch.cat([x, x]) for x in (batch.ids, batch.lengths, batch.labels)]
        return batch._replace(ids=twice[0], lengths=twice[1], labels=twice[2])

    def loss(model, batch):
        seen.append(len(batch.ids))
        return 0.5 * cross_entropy(model, batch)

    fit(fresh(), TRAIN, HELD_OUT, Training(epochs=1, batch=50), hooks=Hooks(batch=doubled, loss=loss))
    assert seen == [100] * 4


def test_hooks_see_gradients_before_the_step_and_weights_after_it():
    seen = []

    def graded(model, batch):
        seen.append((batch.step, "graded", weights(model), model.head.weight.grad.clone()))
        model.embedding.weight.grad.zero_()

    def stepped(model, batch):
        seen.append((batch.step, "stepped", weights(model), model.head.weight.grad))

    model = fresh()
    still = Training(epochs=1, batch=100, rate=1e-2)
    fit(model, TRAIN, HELD_OUT, still, hooks=Hooks(graded=graded, stepped=stepped))
    assert [(step, what) for step, what, _, _ in seen] == [(0, "graded"), (0, "stepped"), (1, "graded"), (1, "stepped")]
    assert seen[0][3].abs().sum() > 0
    assert seen[1][3] is None
    assert not torch.equal(seen[0][2], seen[1][2])
    assert torch.equal(seen[1][2], seen[2][2])
    assert torch.equal(model.embedding.weight, fresh().embedding.weight)  # whose gradients the hook took away


def test_every_row_once_an_epoch_and_like_lengths_together():
    batches = list(_order(Ragged.of(TRAIN.tokens), 16, np.random.default_rng(0)))
    assert sorted(np.concatenate(batches).tolist()) == list(range(200))
    spread = [np.ptp([len(TRAIN.tokens[i]) for i in b]) for b in batches]
    assert np.mean(spread) < 3


def test_packing():
    rows = Ragged.of([[3, 4], [], [5, 6, 7]])
    placed = Placed.of(rows.cut(2), [0, 1, 0], 9, torch.device("cpu"))
    ids, lengths, labels = placed.gather(torch.tensor([1, 0, 2]), 2)
    assert ids.tolist() == [[9, 9], [3, 4], [5, 6]]
    assert lengths.tolist() == [0, 2, 2]
    assert labels.tolist() == [1, 0, 0]
    assert list(rows.capped(5, 1)) == [[3, 4], [], [1, 1, 1]]
    assert rows[0:2] == [[3, 4], []]


def test_a_hook_changes_the_vectors_that_are_read():
    seen = []

    def blank(vectors, batch):
        seen.append((tuple(vectors.shape), len(batch.labels)))
        return vectors * 0

    model = fresh()
    fit(model, TRAIN, HELD_OUT, Training(epochs=2, batch=100, rate=1e-2), hooks=Hooks(embedded=blank))
    assert all(shape[0] == size and shape[2] == 8 for shape, size in seen)
    assert len(seen) == 4
    assert torch.equal(model.embedding.weight, fresh().embedding.weight)  # what is blanked does not learn


class Killed(Exception):
    pass


@pytest.mark.parametrize("at", [1, 7, 13, 14, 30])
def test_what_was_killed_goes_on_to_the_same_weights(at, tmp_path):
    how = Training(epochs=3, rate=1e-2, batch=16)
    whole = fresh()
    expected = fit(whole, TRAIN, HELD_OUT, how)
    steps = []

    def batch(found):
        steps.append(1)
        if len(steps) == at:
            raise Killed
        return found

    first, second = fresh(), fresh()
    kept = {"folder": tmp_path / "state", "recipe": {"a": (1, 2)}, "every": 0.0}
    with pytest.raises(Killed):
        fit(first, TRAIN, HELD_OUT, how, hooks=Hooks(batch=batch), unfinished=TrainingFolder(**kept))
    again = fit(second, TRAIN, HELD_OUT, how, unfinished=TrainingFolder(**kept))
    assert torch.equal(weights(second), weights(whole))
    assert [e[:3] for e in again.epochs] == [e[:3] for e in expected.epochs]
    assert len(list((tmp_path / "state").iterdir())) == 1


def test_a_state_of_another_recipe_or_a_damaged_one_is_not_used(tmp_path):
    how = Training(epochs=1, batch=50, rate=1e-2)
    kept = TrainingFolder(folder=tmp_path / "s", recipe={"rate": 1}, every=0.0)
    fit(fresh(), TRAIN, HELD_OUT, how, unfinished=kept)
    expected = weights_after(how)
    for change in ("recipe", "damage"):
        if change == "damage":
            for path in (tmp_path / "s").glob("*/state.safetensors"):
                path.write_bytes(path.read_bytes()[:-9])
        model = fresh(1)
        recipe = {"rate": 2 if change == "recipe" else 1}
        fit(model, TRAIN, HELD_OUT, how, seed=1, unfinished=TrainingFolder(folder=tmp_path / "s", recipe=recipe))
        assert torch.equal(weights(model), expected)


def weights_after(how):
    model = fresh(1)
    fit(model, TRAIN, HELD_OUT, how, seed=1)
    return weights(model)


def test_a_broken_loss_is_said():
    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor(math.nan))

        def forward(self, ids, lengths):
            return torch.zeros(len(ids), 2) * self.weight

    with pytest.raises(SettingError, match="the loss became nan"):
        fit(Broken(), TRAIN, HELD_OUT, Training(epochs=1))
    with pytest.raises(SettingError, match="above 0"):
        Training(epochs=0)
