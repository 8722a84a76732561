"""A search that is guided by the whole network's own answers."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.models.lowrank.small_networks import SmallCNN, SmallLanguageModel, image_batches, token_batches
from torch import Tensor, nn
from torch.nn import functional

from gossamer import Budget, compress
from gossamer.models.lowrank import SearchSettings, prune
from gossamer.models.lowrank.answers import (
    AnsweredBatches,
    ByAnswers,
    choose_guide,
    class_distance,
    distance_to_answers,
    real_tensors,
)
from gossamer.models.lowrank.batches import BatchSource


def network(seed: int = 0) -> nn.Module:
    """Return layers of falling singular values, with dropout, which must not work while answers are asked for."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(24, 24), nn.Tanh(), nn.Dropout(0.5), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 3))


def inputs(count: int = 6, rows: int = 64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(rows, 24, generator=generator) for _ in range(count)]


def test_the_distance_is_that_of_a_sum_over_all_numbers():
    torch.manual_seed(0)
    output, answer = torch.randn(7, 3, dtype=torch.float64), torch.randn(7, 3, dtype=torch.float64)
    numbers = answer.flatten().tolist()
    middle = sum(numbers) / len(numbers)
    change = sum((a - b) ** 2 for a, b in zip(output.flatten().tolist(), numbers, strict=True))
    expected = change / sum((number - middle) ** 2 for number in numbers)
    assert float(distance_to_answers(output, answer)) == pytest.approx(expected)
    assert float(distance_to_answers((output, {"a": answer}), (answer, {"a": output}))) == pytest.approx(
        expected + float(distance_to_answers(answer, output))
    )
    assert torch.autograd.gradcheck(distance_to_answers, (output.requires_grad_(), answer))


@given(scale=st.floats(0.01, 100), shift=st.floats(-10, 10))
def test_units_of_the_answers_do_not_matter(scale: float, shift: float):
    generator = torch.Generator().manual_seed(0)
    output, answer = (torch.randn(9, 2, generator=generator, dtype=torch.float64) for _ in range(2))
    found = distance_to_answers(scale * output + shift, scale * answer + shift)
    assert float(found) == pytest.approx(float(distance_to_answers(output, answer)), rel=1e-6)


def test_answers_that_are_all_alike_give_a_finite_distance():
    assert torch.isfinite(distance_to_answers(torch.ones(4), torch.zeros(4)))
    assert float(distance_to_answers(torch.zeros(4), torch.zeros(4))) == 0


def test_only_real_numbers_are_answers():
    with pytest.raises(ValueError, match=r"model must return tensors of real numbers .*, got Tensor; pass a loss"):
        distance_to_answers(torch.arange(3), torch.arange(3))
    assert list(real_tensors([None, "words", torch.arange(3)])) == []


def test_answers_are_those_of_the_whole_network_in_evaluation():
    model, data = network().train(), inputs(2)
    batches = AnsweredBatches(BatchSource(data, needs_targets=False), model)
    (first,), answers = batches[0]
    assert model.training
    assert torch.equal(first, data[0])
    assert torch.equal(answers, copy.deepcopy(model).eval()(first))
    assert not answers.requires_grad
    assert batches[0][1] is answers  # smaller than the inputs: kept
    words = SmallLanguageModel()
    scores = AnsweredBatches(BatchSource(token_batches(1), needs_targets=True), words)
    assert scores[0][1] is not scores[0][1]  # thirty scores for each word: asked for again


def test_a_loss_is_taken_where_there_is_one():
    source, model = BatchSource(image_batches(), needs_targets=True), SmallCNN()
    assert choose_guide(functional.cross_entropy, source, model) == (functional.cross_entropy, source)
    assert choose_guide(None, source, model)[0] is distance_to_answers


def test_answers_are_compared_as_one_says():
    source, model = BatchSource(inputs(), needs_targets=False), network()
    guide, batches = choose_guide(ByAnswers(class_distance), source, model)
    assert guide is class_distance
    assert isinstance(batches, AnsweredBatches)
    assert ByAnswers(class_distance)(torch.tensor([[0.0, 8.0]]), torch.tensor([[3.0, 11.0]])) == 0
    with pytest.raises(ValueError, match=r"distance must be a function of \(output, answers\), got 'classes'"):
        ByAnswers("classes")


@pytest.mark.parametrize("compressor", [compress, prune])
def test_a_distance_of_ones_own_needs_no_targets(compressor):
    torch.manual_seed(0)
    parts = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    model, asked = nn.Sequential(*parts), []

    def distance(output: Tensor, answers: Tensor) -> Tensor:
        asked.append(answers.requires_grad)
        return class_distance(output, answers)

    data = [images for images, _ in image_batches()]
    settings = {"budget": Budget(macs=0.6), "search": SearchSettings(iterations=3, polish=4)}
    small = compressor(model, data=data, loss=ByAnswers(distance), **settings)
    assert small.compression_report.share("macs") <= 0.6
    assert asked
    assert not any(asked)


def test_the_search_keeps_the_answers_better_than_singular_values_do():
    model, data = network().eval(), inputs()
    before = copy.deepcopy(model.state_dict())
    test = torch.randn(512, 24, generator=torch.Generator().manual_seed(2))
    settings = {"data": data, "budget": Budget(params=0.5), "fitted": False}
    small = compress(model, **settings, search=SearchSettings(iterations=15, polish=40))
    rule = compress(model, **settings, allocator="pos_cvx")
    assert small.compression_report.share("params") <= 0.5
    with torch.no_grad():
        ours, theirs = (float(distance_to_answers(found(test), model(test))) for found in (small, rule))
    assert ours < 0.9 * theirs
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("compressor", [compress, prune])
def test_targets_are_not_looked_at(compressor):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten())
    settings = {"budget": Budget(macs=0.6), "search": SearchSettings(iterations=3, polish=4)}
    alone = compressor(model, data=[images for images, _ in image_batches()], **settings)
    paired = compressor(model, data=image_batches(), **settings)
    images = image_batches()[0][0]
    assert torch.equal(alone.eval()(images), paired.eval()(images))
