"""The network: what each method sees of a user, exact parts of scores, and gradients through the decomposition."""

from __future__ import annotations

import pytest
import torch

from gossamer.models.community import network as network_module
from gossamer.models.community.encoder import no_codes
from gossamer.models.community.neighbourhood import Neighbours
from gossamer.models.community.network import PARTS, CommunityNetwork, Widths

WIDTHS = Widths(6, 3, 4, 5, 0, 0, 0, 0)
HISTORY = Neighbours(torch.tensor([0, 2, 2]), torch.tensor([1, 4]))


def network(method: str = "bihgnn", **more) -> CommunityNetwork:
    torch.manual_seed(0)
    return CommunityNetwork(WIDTHS, method=method, **more).double().eval()


def full_of(model: CommunityNetwork) -> torch.Tensor:
    items = model.neighbour_encoder(no_codes(5), torch.arange(5)) if model.method != "features" else torch.zeros(5, 6)
    codes = no_codes(2)
    return model.full_users(type(codes)(codes.offsets, codes.values, codes.numbers.double()), items.double(), HISTORY)


@pytest.mark.parametrize("method", PARTS)
def test_all_methods_score_and_have_gradients_everywhere_they_should(method: str) -> None:
    model = network(method).train()
    parts = model.user_parts(full_of(model))
    vectors = model.user_vectors(parts)
    items = torch.randn(4, 6, dtype=torch.float64)
    bias = torch.zeros(4, dtype=torch.float64)
    scores = model.score_all(vectors, items, bias)
    rows, columns = torch.tensor([0, 1, 1]), torch.tensor([3, 0, 2])
    torch.testing.assert_close(model.score_pairs(vectors, items, bias, rows, columns), scores[rows, columns])
    scores.square().sum().backward()
    if model.has_communities:
        assert model.space.grad is not None
        assert model.space.grad.isfinite().all()
        assert model.space.grad.abs().sum() > 0


def test_scores_of_a_hidden_layer_do_not_depend_on_how_many_users_go_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = network()
    vectors, items = torch.randn(5, 6, dtype=torch.float64), torch.randn(4, 6, dtype=torch.float64)
    bias = torch.zeros(4, dtype=torch.float64)
    at_once = model.score_all(vectors, items, bias)
    assert model.score_all(vectors[:0], items, bias).shape == (0, 4)
    calls = []
    plain = torch.relu
    monkeypatch.setattr(torch, "relu", lambda given: (calls.append(len(given)), plain(given))[1])
    monkeypatch.setattr(network_module, "NUMBERS_AT_ONCE", 2 * 4 * 4)  # two users with four items and four numbers
    torch.testing.assert_close(model.score_all(vectors, items, bias), at_once)
    assert calls == [2, 2, 1]


def test_what_is_the_users_own_is_orthogonal_to_all_communities() -> None:
    model = network()
    parts = model.user_parts(full_of(model))
    assert (parts["individual"] @ model.space.T).abs().max() < 1e-9
    torch.testing.assert_close(parts["memberships"].sum(dim=1), torch.ones(2, dtype=torch.float64))
    projected = network(community_part="projection").user_parts(full_of(model))
    torch.testing.assert_close(projected["community"] + projected["individual"], projected["full"])


def test_parts_add_up_to_the_whole() -> None:
    model = network()
    parts = model.user_parts(full_of(model))
    apart = model.user_vectors(parts, only=("community",)) + model.user_vectors(parts, only=("individual",))
    torch.testing.assert_close(apart, model.user_vectors(parts))
    assert (model.user_vectors(parts, only=()) == 0).all()


def test_communities_of_o_gnn_are_orthonormal_whatever_the_parameter() -> None:
    model = network("o-gnn")
    with torch.no_grad():
        model.space.mul_(3).add_(0.1)
    space = model.community_space()
    torch.testing.assert_close(space @ space.T, torch.eye(3, dtype=torch.float64))


def test_the_papers_distance_lies_between_0_and_1() -> None:
    model = network(distance="network")
    closeness = model.closeness(full_of(model))
    assert ((closeness > 0) & (closeness < 1)).all()


def test_decomposition_has_right_gradients() -> None:
    model = network()
    full = torch.nn.functional.normalize(torch.randn(3, 6, dtype=torch.float64), dim=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda given: model.user_vectors(model.user_parts(given)), full)
