"""What a state emits: one exponential family per file."""

from gossamer.models.markov.emissions.categorical import Categorical
from gossamer.models.markov.emissions.family import Emission, Observed, Parameters, Prior, owner_sums
from gossamer.models.markov.emissions.gaussian import DiagonalGaussian
from gossamer.models.markov.emissions.gaussian_full import FullGaussian
from gossamer.models.markov.emissions.multinomial import Multinomial
from gossamer.models.markov.emissions.poisson import Poisson

EMISSIONS: dict[str, Emission] = {
    "gaussian": DiagonalGaussian(),
    "gaussian-full": FullGaussian(),
    "categorical": Categorical(),
    "multinomial": Multinomial(),
    "poisson": Poisson(),
}

__all__ = [
    "EMISSIONS",
    "Categorical",
    "DiagonalGaussian",
    "Emission",
    "FullGaussian",
    "Multinomial",
    "Observed",
    "Parameters",
    "Poisson",
    "Prior",
    "owner_sums",
]
