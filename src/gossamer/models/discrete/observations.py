"""What codes are decoded into: 0/1 values, real numbers or counts; likelihood, mean and draws of each."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

MIN_VARIANCE = 1e-4  # of a column's own: a decoder that knows a column exactly must not gain without end
RARE = 1e-3  # the smallest frequency that an output begins with


class Observation(nn.Module, ABC):
    """p(x | outputs of the decoder), and what the encoder sees of x."""

    @abstractmethod
    def inputs(self, x: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return what the encoder sees."""

    @abstractmethod
    def log_likelihood(self, outputs: Float[Tensor, "*S B D"], x: Float[Tensor, "B D"]) -> Float[Tensor, "*S B"]:
        """Return log p(x | outputs) in nats per observation."""

    @abstractmethod
    def mean(self, outputs: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return the expected observation (of counts: the probabilities of terms)."""

    @abstractmethod
    def first_outputs(self) -> Float[Tensor, " D"]:
        """Return the outputs that a decoder without codes would give: its bias begins there."""


class BinaryObservation(Observation):
    """x_d ~ Bernoulli(sigmoid(outputs_d)), equation (3); the encoder sees x less its mean over training data.

    Grey values in [0, 1] are taken as they are: the cross-entropy is then not a log-probability.
    """

    center: Tensor

    def __init__(self, mean: Float[Tensor, " D"]) -> None:
        super().__init__()
        self.register_buffer("center", mean)

    def inputs(self, x: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return x − mean."""
        return x - self.center

    def log_likelihood(self, outputs: Float[Tensor, "*S B D"], x: Float[Tensor, "B D"]) -> Float[Tensor, "*S B"]:
        """Return Σ_d x_d o_d − log(1 + e^o_d), the summand of (11) from logits."""
        return -functional.binary_cross_entropy_with_logits(outputs, x.expand_as(outputs), reduction="none").sum(-1)

    def mean(self, outputs: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return the probabilities of ones."""
        return outputs.sigmoid()

    def first_outputs(self) -> Float[Tensor, " D"]:
        """Return the logits of the frequencies of ones."""
        return torch.logit(self.center.clamp(RARE, 1 - RARE))


class RealObservation(Observation):
    """x_d ~ N(outputs_d, v_d) with a learned v_d per column, in units of each column's mean and scale.

    Likelihoods are densities in the units of the data.
    """

    center: Tensor
    scale: Tensor

    def __init__(self, mean: Float[Tensor, " D"], scale: Float[Tensor, " D"]) -> None:
        super().__init__()
        self.register_buffer("center", mean)
        self.register_buffer("scale", scale)
        self.log_variance = nn.Parameter(torch.zeros_like(mean))

    def inputs(self, x: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return standardised columns."""
        return (x - self.center) / self.scale

    def log_likelihood(self, outputs: Float[Tensor, "*S B D"], x: Float[Tensor, "B D"]) -> Float[Tensor, "*S B"]:
        """Return the log density of x."""
        log_variance = self.log_variance.clamp_min(math.log(MIN_VARIANCE))
        constant = (log_variance + math.log(2 * math.pi)).sum() / 2 + self.scale.log().sum()
        squares = (self.inputs(x) - outputs).square() * torch.exp(-log_variance)
        return -squares.sum(dim=-1) / 2 - constant

    def mean(self, outputs: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return the mean in the data's units."""
        return outputs * self.scale + self.center

    def first_outputs(self) -> Float[Tensor, " D"]:
        """Return zeros: the means of the columns."""
        return torch.zeros_like(self.center)


class CountObservation(Observation):
    """x ~ Multinomial(length of x, softmax(outputs)), with the length given; the encoder sees log(1 + x), of norm 1.

    The multinomial coefficient, which no code can change, is left out: this is log p of the words in their order.
    """

    frequency: Tensor

    def __init__(self, frequency: Float[Tensor, " D"]) -> None:
        super().__init__()
        self.register_buffer("frequency", frequency)

    def inputs(self, x: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return log(1 + x) over its norm, zeros for a row without counts."""
        return functional.normalize(torch.log1p(x), dim=-1)

    def log_likelihood(self, outputs: Float[Tensor, "*S B D"], x: Float[Tensor, "B D"]) -> Float[Tensor, "*S B"]:
        """Return Σ_d x_d log softmax(outputs)_d."""
        return (outputs * x).sum(dim=-1) - x.sum(dim=-1) * outputs.logsumexp(dim=-1)

    def mean(self, outputs: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return the probabilities of terms."""
        return outputs.softmax(dim=-1)

    def first_outputs(self) -> Float[Tensor, " D"]:
        """Return the log frequencies of terms."""
        return self.frequency.clamp_min(RARE / len(self.frequency)).log()


OBSERVATIONS = ("binary", "real", "counts")
