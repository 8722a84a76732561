"""The rival: the Gumbel-softmax VAE of Jang, Gu and Poole (2017), with categoricals or Bernoullis as its code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gossamer.core.checks import check_choice, check_int
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.models.discrete.fitting import FittedByGradient
from gossamer.models.discrete.latent import Latent
from gossamer.models.discrete.slots import SlotLatent

KINDS = ("categorical", "bernoulli")


class GumbelVAE(FittedByGradient):
    """A VAE with `num_features` / `num_options` categoricals, or with `num_features` Bernoullis, and a uniform prior.

    `kind` "categorical" has one feature of each group of `num_options` on, always; "bernoulli" any number. `gradient`
    "relaxed" is the published one, "gumbel-straight-through" its straight-through twin; other arguments are those
    of `SparseDiscreteVAE`.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "hard",
        {
            "num_features": Integer(50, 400, log=True),
            "num_options": Integer(2, 20, log=True),
            "temperature": Real(0.3, 3, log=True),
            "learning_rate": Real(0.0002, 0.01, log=True),
        },
        fixed={"patience": 5},
    )

    def __init__(
        self,
        *,
        kind: str = "categorical",
        num_features: int = 200,
        num_options: int = 10,
        encoder_dims: Sequence[int] = (512, 384, 256),
        decoder_dims: Sequence[int] = (256, 384, 512),
        activation: str = "relu",
        observation: str = "binary",
        binarisation: str = "none",
        gradient: str = "relaxed",
        num_samples: int | None = None,
        temperature: float = 1.0,
        temperature_schedule: str = "fixed",
        temperature_floor: float = 0.1,
        learning_rate: float = 2e-3,
        warmup: float = 0.02,
        cooldown: float = 0.5,
        batch_size: int = 100,
        epochs: int = 20,
        patience: int | None = None,
        select: str = "hard",
        random_state: int | None = 0,
    ) -> None:
        self.kind = kind
        self.num_features = num_features
        self.num_options = num_options
        self.encoder_dims = encoder_dims
        self.decoder_dims = decoder_dims
        self.activation = activation
        self.observation = observation
        self.binarisation = binarisation
        self.gradient = gradient
        self.num_samples = num_samples
        self.temperature = temperature
        self.temperature_schedule = temperature_schedule
        self.temperature_floor = temperature_floor
        self.learning_rate = learning_rate
        self.warmup = warmup
        self.cooldown = cooldown
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.select = select
        self.random_state = random_state

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_choice("kind", self.kind, KINDS)
        check_int("num_options", self.num_options, at_least=2)
        if self.kind == "categorical" and self.num_features % self.num_options:
            raise ValueError(
                f"num_options must be a divisor of num_features = {self.num_features}, got {self.num_options}"
            )

    def _make_latent(self) -> Latent:
        if self.kind == "bernoulli":
            return SlotLatent(self.num_features, self.num_features, learned_prior=False)
        groups = self.num_features // self.num_options
        return SlotLatent(self.num_features, groups, has_off=False, learned_prior=False)
