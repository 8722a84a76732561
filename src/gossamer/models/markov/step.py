"""EM as a step of the loop: every epoch is one E-step and one M-step, of several starts until the best is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from gossamer.data.batching import Batches
from gossamer.models.markov.chains import Chain
from gossamer.models.markov.emissions import Emission, Observed, Parameters, Prior, owner_sums
from gossamer.models.markov.ragged import sequence_numbers
from gossamer.models.markov.together import add_up_tensors

if TYPE_CHECKING:
    from lightning_fabric import Fabric

    from gossamer.training.sharing import Sharing

EMISSION = "emission."


def whole_data() -> Batches[None]:
    """Return one batch per epoch: EM sees all data, so there is nothing to draw."""
    return Batches(lambda _: None, num_examples=1, batch_size=1, shuffle=False)


def emission_part(parameters: Parameters) -> Parameters:
    """Return the parameters of the emission by their own names."""
    return {name.removeprefix(EMISSION): value for name, value in parameters.items() if name.startswith(EMISSION)}


class EMStep:
    """One EM iteration of every candidate; after `start_epochs` only the best goes on, of each owner by itself.

    The loss is minus the penalised log-likelihood per observed step of the best candidate, at the parameters before the
    update; it never rises. "settled_loss" follows it in steps of at least `tolerance`, so that a patience of one epoch
    means convergence.

    Where processes have divided the series, what each expects of its own is added up before every M-step (`sharing`):
    all of them make the iteration of one process that holds everything. `num_observed` then counts all steps.
    """

    def __init__(
        self,
        chain: Chain,
        emission: Emission,
        observed: Observed,
        offsets: np.ndarray,
        candidates: Sequence[Parameters],
        prior: Prior,
        *,
        num_observed: int,
        start_epochs: int = 5,
        tolerance: float = 1e-5,
        sharing: Sharing | None = None,
    ) -> None:
        self.chain, self.emission, self.observed, self.offsets, self.prior = chain, emission, observed, offsets, prior
        self.candidates = [dict(candidate) for candidate in candidates]
        self.num_owners = len(candidates[0]["initial"])
        self.series = None if self.num_owners == 1 else sequence_numbers(offsets)
        self.num_observed, self.start_epochs, self.tolerance = num_observed, start_epochs, tolerance
        self.num_updates, self.settled = 0, float("inf")
        self.sharing = sharing

    @property
    def parameters(self) -> Parameters:
        """The parameters of the first candidate: the best, once it is alone."""
        return self.candidates[0]

    def setup(self, fabric: Fabric) -> None:
        """Do nothing: the compiled loops run on the CPU, and `sharing` knows the other processes."""

    def __call__(self, batch: None, weight: float) -> dict[str, float]:  # noqa: ARG002 (all data, every time)
        """Make one iteration and return the loss before it."""
        with torch.no_grad():
            improved = [self._iterate(candidate) for candidate in self.candidates]
        objectives = torch.stack([objective for objective, _ in improved])
        self.candidates = [parameters for _, parameters in improved]
        self.num_updates += 1
        if self.num_updates >= self.start_epochs and len(self.candidates) > 1:
            self.keep_best(objectives)
        loss = -objectives.max(dim=0).values.sum().item() / self.num_observed
        if loss < self.settled - self.tolerance:
            self.settled = loss
        return {"loss": loss, "settled_loss": self.settled}

    def _iterate(self, parameters: Parameters) -> tuple[Tensor, Parameters]:
        emission = emission_part(parameters)
        log_emissions = self.emission.log_density(self.observed, emission, self.series)
        expected = self.chain.expect(parameters, log_emissions, self.offsets)
        objective = expected.log_likelihood if self.num_owners > 1 else expected.log_likelihood.sum()[None]
        sums = owner_sums(self.observed, expected.states, self.series, self.num_owners)
        objective, sums, *counted = add_up_tensors([objective, sums, *expected.counts.values()], self.sharing)
        counts = dict(zip(expected.counts, counted, strict=True))
        objective = objective + self.chain.log_prior(parameters, self.prior.pseudo_count)
        objective = objective + self.emission.log_prior(emission, self.prior)
        found = self.emission.maximise(sums, self.observed, self.prior, emission)
        chain = self.chain.maximise(counts, parameters, self.prior.pseudo_count)
        return objective, chain | {EMISSION + name: value for name, value in found.items()}

    def keep_best(self, objectives: Tensor) -> None:
        """Keep, for every owner, the candidate with the largest objective (candidates, owners)."""
        best, owners = objectives.argmax(dim=0), torch.arange(self.num_owners)
        names = self.candidates[0]
        self.candidates = [{name: torch.stack([c[name] for c in self.candidates])[best, owners] for name in names}]

    def state_dict(self) -> dict[str, Any]:
        """Return all candidates and how far they are."""
        return {
            "candidates": [dict(candidate) for candidate in self.candidates],
            "num_updates": self.num_updates,
            "settled": self.settled,
            "longest": getattr(self.chain, "longest", 0),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Return to a state of the same shapes."""
        mine = {name: value.shape for name, value in self.candidates[0].items()}
        given = {name: value.shape for name, value in state["candidates"][0].items()}
        if mine != given:
            raise ValueError(
                f"candidates must have the shapes {mine} as these data and arguments do, got {given}; "
                "train anew with another checkpoint"
            )
        self.candidates = [dict(candidate) for candidate in state["candidates"]]
        self.num_updates, self.settled = state["num_updates"], state["settled"]
        if hasattr(self.chain, "longest"):
            self.chain.longest = state["longest"]
