"""Phases of behaviour: hidden Markov and semi-Markov models, classical and with EM as a network layer."""

from gossamer.models.markov.hmm import HMM
from gossamer.models.markov.hsmm import HSMM
from gossamer.models.markov.model_choice import StateChoice, choose_num_states
from gossamer.models.markov.neural.neural_em import NeuralEM

ESTIMATORS: dict[str, type] = {"hmm": HMM, "hsmm": HSMM, "neural-em": NeuralEM}

__all__ = ["ESTIMATORS", "HMM", "HSMM", "NeuralEM", "StateChoice", "choose_num_states"]
