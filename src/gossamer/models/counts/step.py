"""One update of a count model: algorithms 1, 2 and 3 of the paper, and schedules that go from one to another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import Optimizer

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.randomness import RandomState, derive_seed, numpy_generator
from gossamer.models.counts.batch import CountBatch
from gossamer.models.counts.bound import bound
from gossamer.models.counts.module import Decoder, Encoder
from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.refinement import Refinement, refine
from gossamer.models.counts.row_adam import make_adam
from gossamer.models.counts.warm_starts import WarmStarts

if TYPE_CHECKING:
    from lightning_fabric import Fabric

INFERENCES = ("amortised", "svi", "refined", "refined-then-amortised", "amortised-then-refined")


class EncoderAndDecoder(Protocol):
    """What is trained: a decoder, and an encoder unless every posterior is found from the prior."""

    @property
    def encoder(self) -> Encoder | None:
        """The inference network; None for "svi"."""

    @property
    def decoder(self) -> Decoder:
        """The generative network."""


class CountStep:
    """One minibatch of learning: where the posteriors come from that the decoder is taught with.

    - "amortised" (algorithm 1): from the encoder; both networks climb the same bound.
    - "svi" (algorithm 2): refined from the prior; there is no encoder.
    - "refined" (algorithm 3): the encoder climbs its own bound, the decoder the bound at posteriors refined from the
      encoder's, through which no gradient flows.
    - "refined-then-amortised" and the reverse change at update `switch_update`.

    The KL counts `beta` · min(1, t / max(1, `annealing_updates`)) at update t, so that the first minibatch has none of
    it; refinement always climbs the bound with the full `beta`. The decoder's matrices shrink by `decoder_decay`
    (AdamW), as under a Gaussian prior; the encoder, which has no prior, does not. With `keep_posteriors` rows of data,
    a row is refined from where it was left the last time. Randomness comes from (random_state, update, process) alone.
    """

    def __init__(
        self,
        network: EncoderAndDecoder,
        *,
        inference: str = "refined",
        refinement: Refinement | None = None,
        learning_rate: float = 8e-4,
        decoder_decay: float = 0.0,
        beta: float = 1.0,
        annealing_updates: int = 0,
        switch_update: int = 0,
        keep_posteriors: int = 0,
        random_state: RandomState = 0,
    ) -> None:
        self.first, _, self.second = check_choice("inference", inference, INFERENCES).partition("-then-")
        check_real("learning_rate", learning_rate, above=0)
        check_real("decoder_decay", decoder_decay, at_least=0)
        self.refinement = Refinement() if refinement is None else refinement
        self.beta = check_real("beta", beta, above=0)
        self.annealing_updates = check_int("annealing_updates", annealing_updates, at_least=0)
        self.switch_update = check_int("switch_update", switch_update, at_least=0)
        self.network = network
        self._sides: dict[str, nn.Module] = {"decoder": network.decoder}
        if network.encoder is not None:
            self._sides["encoder"] = network.encoder
        elif inference != "svi":
            raise ValueError(f"inference must be 'svi' for a network without encoder, got {inference!r}")
        self._optimisers: dict[str, Optimizer] = {
            name: make_adam(side, learning_rate, weight_decay=decoder_decay if name == "decoder" else 0.0)
            for name, side in self._sides.items()
        }
        rows = check_int("keep_posteriors", keep_posteriors, at_least=0)
        self._kept = WarmStarts(rows, network.decoder.latent_dim) if rows else None
        self.num_updates = 0
        self._seed = int(numpy_generator(random_state).integers(2**63))
        self._fabric: Fabric | None = None

    @property
    def algorithm(self) -> str:
        """What the next update will be: "amortised", "svi" or "refined"."""
        return self.second if self.second and self.num_updates >= self.switch_update else self.first

    @property
    def kl_weight(self) -> float:
        """The weight of the KL in the next update."""
        return self.beta * min(1.0, self.num_updates / max(1, self.annealing_updates))

    def setup(self, fabric: Fabric) -> None:
        """Move both networks to the device of `fabric`; once is enough."""
        if fabric.world_size > 1 and self._kept is not None:
            # Rows travel between processes from epoch to epoch, and a checkpoint holds the state of process 0 only.
            raise ValueError(f"keep_posteriors must be 0 with several processes, got {len(self._kept)}")
        if self._fabric is None:
            for side in self._sides.values():
                side.to(fabric.device)
            self._generator = torch.Generator(device=fabric.device)
            # Schedules are counted for one process; W of them get through an epoch in W times fewer updates.
            self.annealing_updates = -(-self.annealing_updates // fabric.world_size)
            self.switch_update = -(-self.switch_update // fabric.world_size)
        self._fabric = fabric

    def __call__(self, batch: CountBatch, weight: float) -> dict[str, Tensor]:
        """Make one update on `batch` and return its loss and KL, means over documents."""
        if self._fabric is None:
            raise RuntimeError("setup(fabric) must be called before the first step; training.fit does it")
        for side in self._sides.values():
            if not side.training:
                side.train()
        batch = batch.to(self._fabric.device)
        self._generator.manual_seed(derive_seed(self._seed, "update", self.num_updates, self._fabric.global_rank))
        scalars = self._amortised(batch, weight) if self.algorithm == "amortised" else self._refined(batch, weight)
        self.num_updates += 1
        return {name: value.detach() for name, value in scalars.items()}

    def _amortised(self, batch: CountBatch, weight: float) -> dict[str, Tensor]:
        """Algorithm 1: θ and φ climb L(x; θ, ψ(x)) together."""
        posterior = self._encode(batch)
        loss = self._loss(posterior, batch)
        self._descend(loss * weight, "encoder", "decoder")
        return {"loss": loss, "kl": posterior.kl().mean()}

    def _refined(self, batch: CountBatch, weight: float) -> dict[str, Tensor]:
        """Algorithms 2 and 3: φ, if there is one, climbs L(x; θ, ψ(x)), then θ climbs L(x; θ, ψ*)."""
        scalars = {}
        if self.algorithm == "svi":
            start = prior(len(batch), self.network.decoder)
        else:
            posterior = self._encode(batch)
            with _frozen(self.network.decoder):
                scalars["encoder_loss"] = self._loss(posterior, batch)
                self._descend(scalars["encoder_loss"] * weight, "encoder")
            start = posterior.detach()
        if self._kept is not None:
            start = self._kept.recall(batch.rows, start)
        refined = refine_bound(self.network.decoder, batch, start, self.refinement, self._generator, self.beta)
        if self._kept is not None:
            self._kept.keep(batch.rows, refined)
        scalars["loss"] = self._loss(refined, batch)
        self._descend(scalars["loss"] * weight, "decoder")
        return scalars | {"kl": refined.kl().mean()}

    def _encode(self, batch: CountBatch) -> Posterior:
        assert self.network.encoder is not None  # the constructor has seen to it
        posterior: Posterior = self.network.encoder(batch, self._generator)
        return posterior

    def _loss(self, posterior: Posterior, batch: CountBatch) -> Float[Tensor, ""]:
        mean = posterior.mean
        noise = torch.randn(mean.shape, generator=self._generator, dtype=mean.dtype, device=mean.device)
        return -bound(self.network.decoder, posterior, batch, noise, self.kl_weight).mean()

    def _descend(self, loss: Float[Tensor, ""], *names: str) -> None:
        torch.autograd.backward(loss)
        assert self._fabric is not None
        for name in names:
            if self._fabric.world_size > 1:
                _average_gradients(self._fabric, self._sides[name])
            self._optimisers[name].step()
            self._optimisers[name].zero_grad()

    def state_dict(self) -> dict[str, Any]:
        """Return parameters, optimisers, kept posteriors and the number of updates."""
        return {
            # Optimisers first: a row-sparse one brings its parameters up to date when it is asked.
            "optimisers": {name: optimiser.state_dict() for name, optimiser in self._optimisers.items()},
            "networks": {name: dict(side.state_dict()) for name, side in self._sides.items()},
            "kept": None if self._kept is None else self._kept.state_dict(),
            "num_updates": self.num_updates,
            "seed": self._seed,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Return to a state, exactly."""
        from gossamer.training.checkpoint import copy_state

        for name, side in self._sides.items():
            _check_shapes(name, side, state["networks"].get(name, {}))
            side.load_state_dict(state["networks"][name])
            # torch's optimisers keep the tensors they are given, and would go on to change the caller's state.
            self._optimisers[name].load_state_dict(copy_state(state["optimisers"][name]))
        if self._kept is not None:
            self._kept.load_state_dict(state["kept"])
        self.num_updates = state["num_updates"]
        self._seed = state["seed"]


def prior(num_rows: int, decoder: Decoder) -> Posterior:
    """Return the prior N(0, I) as the posterior of documents of which nothing is known."""
    mean = decoder.bias.new_zeros(num_rows, decoder.latent_dim).detach()
    return Posterior(mean, torch.zeros_like(mean))


def refine_bound(
    decoder: Decoder,
    batch: CountBatch,
    start: Posterior,
    settings: Refinement,
    generator: torch.Generator,
    beta: float = 1.0,
) -> Posterior:
    """Refine on log p(x | z) − β KL, whose maximum is that of log p(x / β | z) − KL, counts being weights."""
    weighted = batch if beta == 1 else replace(batch, counts=batch.counts / beta)
    return refine(decoder, weighted, start, settings, generator)


def _average_gradients(fabric: Fabric, module: nn.Module) -> None:
    """Give every process the mean of all processes' gradients, densely: they touch different rows."""
    for parameter in module.parameters():
        if parameter.grad is not None:
            parameter.grad = parameter.grad.to_dense() if parameter.grad.is_sparse else parameter.grad
            fabric.all_reduce(parameter.grad, reduce_op="mean")  # in place


@contextmanager
def _frozen(module: nn.Module) -> Iterator[None]:
    """Spare the gradients of a network that is only looked through."""
    module.requires_grad_(False)
    try:
        yield
    finally:
        module.requires_grad_(True)


def _check_shapes(name: str, module: nn.Module, state: dict[str, Tensor]) -> None:
    mine = {key: tuple(value.shape) for key, value in module.state_dict().items()}
    given = {key: tuple(value.shape) for key, value in state.items()}
    if mine != given:
        raise ValueError(
            f"{name} must have the shapes {mine} as these data and arguments do, got {given}; "
            "train anew with another checkpoint"
        )
