"""Phases of behaviour: hidden Markov and semi-Markov models, classical and (to come) with EM as a network layer."""

from gossamer.models.markov.hmm import HMM
from gossamer.models.markov.hsmm import HSMM
from gossamer.models.markov.model_choice import StateChoice, choose_num_states

ESTIMATORS: dict[str, type] = {"hmm": HMM, "hsmm": HSMM}

__all__ = ["ESTIMATORS", "HMM", "HSMM", "StateChoice", "choose_num_states"]
