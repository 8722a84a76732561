"""Anchored factorisation of ratings by alternating exact fits, as a step of the loop: one sweep over both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse
from threadpoolctl import threadpool_limits

from gossamer.data.batching import Batches
from gossamer.models.embeddings.ratings.als_side import Side

if TYPE_CHECKING:
    from lightning_fabric import Fabric

FREE_SWEEPS = 10  # without anchors, from which anchors and priors are taken
LEAST_NOISE = 1e-6  # ratings that are explained to the last digit must not make equations singular
RAMP = 8  # sweeps over which the charge rises to its value, or the size falls to the budget


def whole_data() -> Batches[None]:
    """Return one batch per epoch: a sweep sees all data, so there is nothing to draw."""
    return Batches(lambda _: None, num_examples=1, batch_size=1, shuffle=False)


class AnchorSweep:
    """One sweep of the closed-form solver: codes and anchors of users given items, then of items given users.

    The model is r = μ + p_u·q_i + noise with p = t_u A_u and q = t_i A_i. `charge` is by how much an entry of T must
    lower the squared error; a `budget` of numbers raises it as far as is needed, and from sweep `RAMP` on no sweep ends
    above the budget. Before the first sweep there are some without anchors, which find priors, noise and the
    vectors that the first anchors are to code.
    """

    def __init__(
        self,
        centred: sparse.csr_array,
        *,
        embedding_dim: int,
        user_anchors: int,
        item_anchors: int,
        num_slots: int,
        biases: bool,
        charge: float,
        budget: int | None,
        random_state: int,
    ) -> None:
        self.users = Side(centred, embedding_dim, user_anchors, num_slots, biases)
        self.items = Side(centred.T.tocsr(), embedding_dim, item_anchors, num_slots, biases)
        generator = np.random.default_rng(random_state)
        self.items.vectors[:, :embedding_dim] = 0.1 * generator.standard_normal((centred.shape[1], embedding_dim))
        self.budget = budget
        self.charge = charge
        self.pressure = 1.0  # by how much the budget raises the charge
        self.random_state = random_state
        self.noise = max(float(np.mean(np.square(centred.data, dtype=np.float64))), LEAST_NOISE)
        self.num_sweeps = 0
        if budget is not None and budget <= self.num_values():
            raise ValueError(
                f"budget must be above the {self.num_values()} numbers of {user_anchors} + {item_anchors} anchors "
                f"and the mean, got {budget}"
            )

    def setup(self, fabric: Fabric) -> None:
        """Do nothing: the compiled loops run on the CPU and share no work between processes."""

    def __call__(self, batch: None, weight: float) -> dict[str, float]:  # noqa: ARG002 (all data, every time)
        """Improve users, then items; return the expected squared error, the size and the charge."""
        with threadpool_limits(limits=1, user_api="blas"):  # idle BLAS threads spin beside the compiled loops
            if self.num_sweeps == 0:
                self._begin()
            charge = self.charge * self.pressure * min(1.0, (self.num_sweeps + 1) / RAMP)
            user_equations = self.users.equations(self.items, self.noise)
            self.users.solve_codes(user_equations, charge, self.noise)
            item_equations = self.items.equations(self.users, self.noise)
            self.items.solve_codes(item_equations, charge, self.noise)
            if self.budget is not None:
                self._follow_budget(user_equations, item_equations)
            self.noise = max(self.items.expected_error(item_equations, self.users, self.noise), LEAST_NOISE)
        self.num_sweeps += 1
        return {"loss": self.noise, "values": float(self.num_values()), "charge": charge}

    def _begin(self) -> None:
        """Alternate without anchors, learning the priors, and take anchors from the result."""
        for sweep in range(FREE_SWEEPS):
            for side, other in ((self.users, self.items), (self.items, self.users)):
                equations = side.equations(other, self.noise)
                side.solve_freely(equations, self.noise)
                self.noise = max(side.expected_error(equations, other, self.noise), LEAST_NOISE)
                if sweep > 1:  # from a random start, the first vectors say nothing of their spread
                    side.learn_prior()
        self.users.choose_anchors(self.random_state)
        self.items.choose_anchors(self.random_state)

    def _follow_budget(self, user_equations: Any, item_equations: Any) -> None:
        """Set the next sweep's charge by how far the size is from its target; past the ramp, enforce the budget."""
        assert self.budget is not None
        fixed = self.num_values() - self._num_entries()
        allowed = self.budget - fixed
        if self.num_sweeps + 1 >= RAMP:
            while self._num_entries() > allowed:
                self.pressure *= max(1.1, self._num_entries() / max(1, allowed))
                self.users.solve_codes(user_equations, self.charge * self.pressure, self.noise)
                self.items.solve_codes(item_equations, self.charge * self.pressure, self.noise)
        target = allowed * (1 + 0.6 * max(0.0, 1 - (self.num_sweeps + 1) / RAMP))
        # The number of entries falls about as the root of the charge.
        self.pressure *= float(np.clip(self._num_entries() / (0.995 * target), 0.7, 1.5)) ** 2
        self.pressure = max(1.0, self.pressure)

    def _num_entries(self) -> int:
        return int(np.count_nonzero(self.users.columns >= 0) + np.count_nonzero(self.items.columns >= 0))

    def num_values(self) -> int:
        """Return how many numbers the model stores, the mean included."""
        return 1 + self.users.num_values() + self.items.num_values()

    def state_dict(self) -> dict[str, Any]:
        """Return both sides, noise, charge and the number of sweeps."""
        sides = {"users": self.users.state(), "items": self.items.state()}
        arrays = {
            side: {name: torch.from_numpy(array) for name, array in state.items()} for side, state in sides.items()
        }
        return {**arrays, "noise": self.noise, "pressure": self.pressure, "num_sweeps": self.num_sweeps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Return to a state of the same shapes."""
        for side in ("users", "items"):
            for name, mine in getattr(self, side).state().items():
                given = state[side][name].numpy()
                if mine.shape != given.shape:
                    raise ValueError(
                        f"{name} of {side} must have shape {mine.shape} as these data and arguments do, "
                        f"got {given.shape}; train anew with another checkpoint"
                    )
                mine[:] = given
        self.noise, self.pressure, self.num_sweeps = state["noise"], state["pressure"], state["num_sweeps"]
