"""How much better a row is than the reference row of its experiment, user by user."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gossamer.metrics.evaluation import PairedDifference, paired_difference
from gossamer.runner.experiment import Experiment, Row
from gossamer.runner.per_user import PerUser
from gossamer.runner.records import Record


def difference_to_reference(experiment: Experiment, row: Row, records: Sequence[Record]) -> PairedDifference | None:
    """Return the mean over all users of all seeds of row − reference, with its paired standard error.

    Where all seeds test the same users, a user counts once, by the mean over seeds. None wherever it would be a guess:
    for the reference itself, where a seed of either row has no values per user, and where the two rows were judged on
    other users, histories or targets.
    """
    if experiment.paired is None or row.name == experiment.paired.against:
        return None
    own, reference = (_by_seed(records, name) for name in (row.name, experiment.paired.against))
    pairs = [(own.get(seed), reference.get(seed)) for seed in experiment.seeds]
    ours, theirs = [], []
    tested: set[str] = set()
    for mine, other in pairs:
        if mine is None or other is None or not _may_be_paired(mine, other, experiment.paired.metric):
            return None
        ours.append(mine.array())
        theirs.append(other.array())
        tested.add(mine.held_out)
    if len(tested) == 1:
        return paired_difference(np.mean(ours, axis=0), np.mean(theirs, axis=0))
    return paired_difference(np.concatenate(ours), np.concatenate(theirs))


def _by_seed(records: Sequence[Record], row: str) -> dict[int, PerUser | None]:
    return {record.seed: record.per_user for record in records if record.row == row}


def _may_be_paired(mine: PerUser, other: PerUser, metric: str) -> bool:
    is_same_metric = mine.metric == other.metric == metric
    return is_same_metric and mine.held_out == other.held_out and len(mine.values) == len(other.values)
