"""Containers, id vocabularies, readers, splits and batches: from files to what a model is fitted on."""

from gossamer.data.arrays import LabelledArrays
from gossamer.data.counts import Counts
from gossamer.data.interactions import HeldOut, Interactions, Split
from gossamer.data.parts import Parts
from gossamer.data.sentences import Sentences
from gossamer.data.sequences import Sequences
from gossamer.data.vocabulary import Vocabulary

__all__ = [
    "Counts",
    "HeldOut",
    "Interactions",
    "LabelledArrays",
    "Parts",
    "Sentences",
    "Sequences",
    "Split",
    "Vocabulary",
]
