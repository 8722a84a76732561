"""Random tiny models with impossible starts, transitions, durations and emissions, for comparison with brute force."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor


@dataclass(frozen=True)
class TinyModel:
    initial: Tensor
    transition: Tensor
    duration: Tensor
    emissions: Tensor
    offsets: np.ndarray
    censored: bool

    @property
    def hmm(self) -> list[Tensor]:
        return [self.initial, self.transition, self.emissions]

    @property
    def hsmm(self) -> list[Tensor]:
        return [self.initial, self.transition, self.duration, self.emissions]

    def parts(self) -> list[tuple[int, slice]]:
        """Return the number and the rows of every sequence."""
        return [(i, slice(*self.offsets[i : i + 2])) for i in range(len(self.offsets) - 1)]


def random_model(
    seed: int,
    num_states: int,
    lengths: list[int],
    longest: int = 3,
    zeros: float = 0.2,
    spread: float = 2.0,
    per_sequence: bool = False,
    censored: bool = True,
) -> TinyModel:
    """Return a model whose log parameters are -inf with probability `zeros`; they are not normalised."""
    rng = np.random.default_rng(seed)
    owner = (len(lengths),) if per_sequence else ()

    def logs(*shape: int, scale: float = 1.0) -> Tensor:
        values = scale * rng.normal(size=shape)
        values[rng.random(shape) < zeros] = -np.inf
        return torch.from_numpy(values).requires_grad_()

    return TinyModel(
        logs(*owner, num_states),
        logs(*owner, num_states, num_states),
        logs(*owner, num_states, longest),
        logs(sum(lengths), num_states, scale=spread),
        np.concatenate([[0], np.cumsum(lengths)]),
        censored,
    )


tiny_models = st.builds(
    random_model,
    seed=st.integers(0, 2**31),
    num_states=st.integers(1, 3),
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    longest=st.integers(1, 4),
    zeros=st.sampled_from([0.0, 0.2, 0.5]),
    spread=st.sampled_from([1.0, 30.0, 2000.0]),  # the last leaves what a double can hold
    per_sequence=st.booleans(),
    censored=st.booleans(),
)


def owned(parameter: Tensor, sequence: int, ndim: int) -> Tensor:
    """Return the parameter of one sequence."""
    return parameter[sequence] if parameter.ndim > ndim else parameter


def gradients(outputs: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    if not outputs.requires_grad:  # nothing was possible
        return [torch.zeros_like(log, requires_grad=True) for log in inputs]
    found = torch.autograd.grad(outputs, inputs, create_graph=True, allow_unused=True, materialize_grads=True)
    return list(found)


def assert_close(found: list[Tensor], expected: list[Tensor]) -> None:
    for value, right in zip(found, expected, strict=True):
        torch.testing.assert_close(value, right, rtol=1e-8, atol=1e-9)
