from __future__ import annotations

from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from gossamer.models.counts.batch import CountBatch, take_batch
from gossamer.models.counts.bound import bound
from gossamer.models.counts.inputs import InputFeatures
from gossamer.models.counts.module import Decoder, Encoder
from gossamer.models.counts.network import CountNetwork
from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.refinement import Refinement, refine
from gossamer.models.counts.step import INFERENCES, CountStep, prior, refine_bound
from gossamer.testing.planted import planted_topics
from gossamer.training.devices import make_fabric

NUM_TERMS, LATENT_DIM = 20, 3
DATA = planted_topics(num_documents=12, num_terms=NUM_TERMS, words_per_document=15).data.matrix


def whole_batch(rows: Any = slice(None)) -> CountBatch:
    inputs = InputFeatures("tfidf").fit(DATA).values(DATA)
    return take_batch(DATA, inputs, np.arange(12)[rows])


def make_network(*, with_encoder: bool = True) -> CountNetwork:
    torch.manual_seed(0)
    encoder = Encoder(NUM_TERMS, LATENT_DIM, (5,)) if with_encoder else None
    return CountNetwork(encoder, Decoder(NUM_TERMS, LATENT_DIM))


def make_step(network: CountNetwork | None = None, **arguments: Any) -> CountStep:
    inference = arguments.get("inference", "refined")
    chosen = make_network(with_encoder=inference != "svi") if network is None else network
    step = CountStep(chosen, **{"learning_rate": 0.01, **arguments})
    step.setup(make_fabric())
    return step


def parameters(step: CountStep) -> list[Tensor]:
    return [value.clone() for value in step.network.state_dict().values()]  # type: ignore[attr-defined]


def test_amortised_training_climbs_one_bound_with_both_networks(monkeypatch: pytest.MonkeyPatch):
    batch, network = whole_batch(), make_network()
    twin = deepcopy(network)
    optimiser = torch.optim.Adam(twin.parameters(), lr=0.01)
    noise = torch.randn(12, LATENT_DIM, generator=torch.Generator().manual_seed(1))
    monkeypatch.setattr(torch, "randn", lambda *_, **__: noise)
    step = make_step(network, inference="amortised")
    for kl_weight in (0.0, 1.0, 1.0):  # the first minibatch is without
        posterior = twin.encoder(batch)
        z = posterior.mean + noise * torch.exp(posterior.log_variance / 2)
        x = torch.from_numpy(DATA.toarray())
        likelihood = (x * torch.log_softmax(twin.decoder.logits(z), dim=1)).sum(dim=1)
        loss = (kl_weight * posterior.kl() - likelihood).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        assert step(batch, 1.0)["loss"].item() == pytest.approx(loss.item(), rel=1e-5)
    for (name, mine), other in zip(network.named_parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-5, msg=name)


def test_refined_training_teaches_each_network_by_its_own_bound(monkeypatch: pytest.MonkeyPatch):
    batch, network = whole_batch(), make_network()
    twin = deepcopy(network)
    assert twin.encoder is not None
    noise = torch.randn(12, LATENT_DIM, generator=torch.Generator().manual_seed(1))
    monkeypatch.setattr(torch, "randn", lambda *_, **__: noise)
    encoder_optimiser = torch.optim.Adam(twin.encoder.parameters(), lr=0.01)
    decoder_optimiser = torch.optim.Adam(twin.decoder.parameters(), lr=0.01)
    step = make_step(network, refinement=Refinement(steps=2))
    for kl_weight in (0.0, 1.0):
        posterior = twin.encoder(batch)
        encoder_loss = -bound(twin.decoder, posterior, batch, noise, kl_weight).mean()
        encoder_loss.backward()
        encoder_optimiser.step()
        twin.zero_grad()
        refined = refine(twin.decoder, batch, posterior.detach(), Refinement(steps=2), torch.Generator())
        loss = -bound(twin.decoder, refined, batch, noise, kl_weight).mean()
        loss.backward()
        decoder_optimiser.step()
        twin.zero_grad()
        scalars = step(batch, 1.0)
        assert scalars["encoder_loss"].item() == pytest.approx(encoder_loss.item(), rel=1e-5)
        assert scalars["loss"].item() == pytest.approx(loss.item(), rel=1e-5)
        assert scalars["kl"].item() == pytest.approx(refined.kl().mean().item(), rel=1e-4)
    for (name, mine), other in zip(network.named_parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-6, msg=name)
    assert all(parameter.requires_grad for parameter in network.parameters())


@pytest.mark.parametrize("inference", INFERENCES)
def test_every_way_of_learning_lowers_the_loss(inference: str):
    step = make_step(inference=inference, switch_update=15, learning_rate=0.05)
    losses = [step(whole_batch(), 1.0)["loss"].item() for _ in range(30)]
    assert np.mean(losses[-3:]) < losses[1] - 1  # the very first is without KL


def test_without_an_encoder_posteriors_start_at_the_prior():
    step = make_step(inference="svi", refinement=Refinement(steps=0))
    before = parameters(step)
    assert step(whole_batch(), 1.0)["kl"].item() == 0
    assert any(not torch.equal(mine, other) for mine, other in zip(parameters(step), before, strict=True))
    start = prior(2, step.network.decoder)
    assert not start.mean.requires_grad
    assert start.kl().tolist() == [0, 0]


def test_schedules_change_at_their_update():
    for first, second in (("refined", "amortised"), ("amortised", "refined")):
        step = make_step(inference=f"{first}-then-{second}", switch_update=2)
        found = []
        for _ in range(4):
            found.append(step.algorithm)
            step(whole_batch(slice(4)), 1.0)
        assert found == [first, first, second, second]


def test_the_kl_rises_to_beta():
    step = make_step(inference="amortised", beta=0.5, annealing_updates=4)
    weights = []
    for _ in range(6):
        weights.append(step.kl_weight)
        step(whole_batch(slice(3)), 1.0)
    assert weights == [0, 0.125, 0.25, 0.375, 0.5, 0.5]
    assert make_step().kl_weight == 0


def test_refinement_climbs_the_bound_with_its_beta():
    decoder, batch = make_network().decoder, whole_batch()
    start = prior(12, decoder)

    def value(posterior: Posterior) -> Tensor:
        noise = torch.randn(200, 12, LATENT_DIM, generator=torch.Generator().manual_seed(0))
        with torch.no_grad():
            return torch.stack([bound(decoder, posterior, batch, draw, 0.2) for draw in noise]).mean(dim=0)

    settings = Refinement(steps=20)
    weighted = refine_bound(decoder, batch, start, settings, torch.Generator(), beta=0.2)
    plain = refine_bound(decoder, batch, start, settings, torch.Generator())
    assert (value(weighted) > value(plain)).all()
    torch.testing.assert_close(plain.mean, refine(decoder, batch, start, settings, torch.Generator()).mean)


@pytest.mark.parametrize(
    "arguments",
    [
        {"inference": "amortised"},
        {"inference": "svi"},
        {"inference": "refined", "keep_posteriors": 12},
        {"inference": "refined", "refinement": Refinement("adam", steps=3)},
        {"inference": "amortised-then-refined", "switch_update": 3, "annealing_updates": 4},
    ],
    ids=str,
)
def test_a_resumed_run_ends_with_the_same_bits(arguments: dict[str, Any]):
    order = [slice(0, 5), slice(5, 12), slice(3, 9), slice(0, 12), slice(2, 4)]
    whole = make_step(**arguments)
    for number, rows in enumerate(order):
        if number == 2:
            state = deepcopy(whole.state_dict())
        whole(whole_batch(rows), 1.0)
    torch.manual_seed(99)
    second = make_step(random_state=5, **arguments)
    kept = deepcopy(state)
    second.load_state_dict(state)
    for rows in order[2:]:
        second(whole_batch(rows), 1.0)
    for mine, other in zip(parameters(second), parameters(whole), strict=True):
        assert torch.equal(mine, other)
    for name, value in kept["networks"]["decoder"].items():  # what was given is left alone
        assert torch.equal(value, state["networks"]["decoder"][name])


def test_kept_posteriors_are_where_refinement_begins():
    settings = {"refinement": Refinement("adam", steps=2, learning_rate=0.02), "learning_rate": 1e-9}
    kept, forgetful = make_step(keep_posteriors=12, **settings), make_step(**settings)
    found = {step: [step(whole_batch(), 1.0)["loss"].item() for _ in range(6)] for step in (kept, forgetful)}
    # The decoder stands still: two steps per epoch go on for the one, and begin anew for the other.
    assert np.mean(found[kept][3:]) < np.mean(found[forgetful][3:])


def test_only_the_decoders_matrices_decay():
    steps = [make_step(decoder_decay=decay) for decay in (0.0, 10.0)]
    for step in steps:
        step(whole_batch(), 1.0)
    plain, decayed = (dict(step.network.decoder.named_parameters()) for step in steps)
    assert all(decayed[name].norm() < plain[name].norm() for name in plain if plain[name].ndim > 1)
    assert torch.equal(decayed["bias"], plain["bias"])
    encoders = [step.network.encoder for step in steps]
    assert all(torch.equal(*both) for both in zip(*(part.parameters() for part in encoders if part), strict=True))


def test_seeds_decide():
    def after(seed: int) -> list[Tensor]:
        step = make_step(random_state=seed)
        step(whole_batch(), 1.0)
        return parameters(step)

    assert all(torch.equal(mine, other) for mine, other in zip(after(1), after(1), strict=True))
    assert any(not torch.equal(mine, other) for mine, other in zip(after(1), after(2), strict=True))


def test_several_processes_cannot_keep_posteriors():
    step = CountStep(make_network(), keep_posteriors=12)
    with pytest.raises(ValueError, match=r"keep_posteriors must be 0 with several processes, got 12"):
        step.setup(SimpleNamespace(world_size=2))  # type: ignore[arg-type]


def test_two_processes_go_through_schedules_in_half_of_the_updates():
    step = CountStep(make_network(), inference="refined-then-amortised", annealing_updates=7, switch_update=20)
    for _ in range(2):  # once is enough
        step.setup(SimpleNamespace(world_size=2, device=torch.device("cpu")))  # type: ignore[arg-type]
    assert (step.annealing_updates, step.switch_update) == (4, 10)


def test_gradients_are_averaged_over_processes():
    step = make_step(inference="amortised")
    doubled: list[int] = []
    fabric = SimpleNamespace(
        world_size=2,
        global_rank=0,
        device=torch.device("cpu"),
        all_reduce=lambda gradient, reduce_op: doubled.append(gradient.numel()),
    )
    step.setup(fabric)  # type: ignore[arg-type]
    step(whole_batch(), 1.0)
    assert sum(doubled) == sum(value.numel() for value in parameters(step))


def test_misuse_is_named():
    with pytest.raises(RuntimeError, match=r"setup\(fabric\) must be called before the first step"):
        CountStep(make_network())(whole_batch(), 1.0)
    with pytest.raises(ValueError, match=r"inference must be 'svi' for a network without encoder, got 'refined'"):
        CountStep(make_network(with_encoder=False))
    other = CountStep(CountNetwork(Encoder(NUM_TERMS, 2, (5,)), Decoder(NUM_TERMS, 2)))
    with pytest.raises(ValueError, match=r"decoder must have the shapes .* got .*; train anew with another checkpoint"):
        make_step().load_state_dict(other.state_dict())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"inference": "both"}, r"inference must be one of 'amortised', 'svi', .*, got 'both'"),
        ({"learning_rate": 0}, r"learning_rate must be a finite number > 0, got 0"),
        ({"decoder_decay": -1}, r"decoder_decay must be a finite number >= 0, got -1"),
        ({"beta": 0}, r"beta must be a finite number > 0, got 0"),
        ({"annealing_updates": -1}, r"annealing_updates must be an integer >= 0, got -1"),
        ({"switch_update": 0.5}, r"switch_update must be an integer >= 0, got 0.5"),
        ({"keep_posteriors": -1}, r"keep_posteriors must be an integer >= 0, got -1"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        CountStep(make_network(), **arguments)
