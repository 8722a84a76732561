"""SparseDiscreteVAE: codes of features of which at most `max_active` are on, learned without labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.models.discrete.chain_slots import ChainSlotLatent
from gossamer.models.discrete.fitting import FittedByGradient
from gossamer.models.discrete.latent import Latent
from gossamer.models.discrete.shared import SharedLatent
from gossamer.models.discrete.slots import SlotLatent
from gossamer.models.stored_network import check_widths

CODES = ("slots", "shared", "counts")
PRIORS = ("learned", "fixed", "chain")


class SparseDiscreteVAE(FittedByGradient):
    """A variational autoencoder whose codes have `num_features` features, never more than `max_active` of them on.

    `codes` is how that is guaranteed. "slots" (ours): features are divided among `max_active` slots, each of which has
    one of its features on or none, 0/1 codes. "shared" (the paper, Xu et al. 2021): `max_active` gates and as many
    draws from one distribution of features per observation, codes are counts; gates have the prior `gate_prior` and
    a network of their own with hidden layers `gate_dims` (none: one more output of the encoder). "counts" is the
    same without the KL of draws behind closed gates. A `prior` is "learned", "fixed" (uniform, as in the
    paper) or, of slots, a "chain", in which each slot's probabilities depend on the slots before it.

    `observation` is "binary" (Bernoulli; `binarisation` of grey values "none", "threshold" at 0.5 or "dynamic", drawn
    anew in every epoch), "real" (Gaussian, a learned variance per column) or "counts" (multinomial, given the
    length of a row). Bytes of LabelledArrays are grey values.

    `gradient` is how f(z) teaches the encoder: "reinmax", "straight-through", "gumbel-straight-through", "gumbel-rao",
    "score-function" (leave-one-out, `num_samples` draws, None: 4), or "relaxed", the paper's, for which the objective
    is no bound. Temperatures begin at `temperature` and are "fixed", "annealed" down to `temperature_floor` or
    "learned" above it, by `temperature_schedule`.

    The weight of the KL rises from 0 to 1 over the first share `warmup` of all updates, and the learning rate of Adam
    falls to 0 over the last share `cooldown`. With validation data the epoch
    with the best `select` ("hard" or "relaxed") is kept, or the "last", and `patience` epochs without a better one
    end the training.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "hard",
        {
            "num_features": Integer(80, 400, log=True),
            "max_active": Integer(5, 80, log=True),
            "temperature": Real(0.3, 3, log=True),
            "learning_rate": Real(0.0002, 0.01, log=True),
        },
        fixed={"patience": 5},
    )

    def __init__(
        self,
        *,
        num_features: int = 200,
        max_active: int = 40,
        codes: str = "slots",
        prior: str = "learned",
        gate_prior: float = 0.5,
        gate_dims: Sequence[int] = (256, 64),
        encoder_dims: Sequence[int] = (512, 384, 256),
        decoder_dims: Sequence[int] = (256, 384, 512),
        activation: str = "relu",
        observation: str = "binary",
        binarisation: str = "none",
        gradient: str = "reinmax",
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
        self.num_features = num_features
        self.max_active = max_active
        self.codes = codes
        self.prior = prior
        self.gate_prior = gate_prior
        self.gate_dims = gate_dims
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
        check_int("max_active", self.max_active, at_least=1)
        if self.max_active > self.num_features:
            raise ValueError(
                f"max_active must be at most num_features = {self.num_features}, got {self.max_active}; "
                "more features than there are cannot be on"
            )
        check_choice("codes", self.codes, CODES)
        if check_choice("prior", self.prior, PRIORS) == "chain" and self.codes != "slots":
            raise ValueError(f"prior must be 'learned' or 'fixed' with codes={self.codes!r}, got 'chain'")
        check_real("gate_prior", self.gate_prior, above=0, below=1)
        check_widths("gate_dims", self.gate_dims)

    def _make_latent(self) -> Latent:
        if self.prior == "chain":
            return ChainSlotLatent(self.num_features, self.max_active)
        is_learned = self.prior == "learned"
        if self.codes == "slots":
            return SlotLatent(self.num_features, self.max_active, learned_prior=is_learned)
        return SharedLatent(
            self.num_features,
            self.max_active,
            gate_prior=self.gate_prior,
            learned_prior=is_learned,
            charge_closed=self.codes == "shared",
        )

    def _gate_dims(self) -> Sequence[int]:
        return self.gate_dims
