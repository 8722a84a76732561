"""Run the rows of an experiment: data → split → search → fit → metrics → record.

Each row has a process of its own, or all of them have one.
"""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gossamer import datasets
from gossamer.core.progress import progress_is_shown, show_progress
from gossamer.core.remembering import is_remembering, remembered, remembering, seconds_remembered
from gossamer.persistence.strict_json import canonical_json
from gossamer.runner import machine, peers
from gossamer.runner.embeddings import with_embeddings
from gossamer.runner.estimators import family_of, make_estimator
from gossamer.runner.experiment import Experiment, Row
from gossamer.runner.measure import Measured, fit, measure
from gossamer.runner.per_user import PerUser
from gossamer.runner.records import Record, read_record, record_path, spec_hash, write_record
from gossamer.runner.search import choose
from gossamer.runner.source import Division, is_file, make_split, open_data
from gossamer.runner.specs import DataSpec, SplitSpec

logger = logging.getLogger(__name__)
RunRow = Callable[[Experiment, Row, int], Record]


def run_row(experiment: Experiment, row: Row, seed: int) -> Record:
    """Run one row with one seed in this process and return its record, unwritten.

    Settings are searched on validation data; then the chosen ones are fitted once more, so that time and memory are
    those of one fit and one evaluation, and judged on test data.
    """
    code = spec_hash(experiment, row, machine.code_hash(family_of(row.model)))
    commit, dirty = machine.commit()
    make_estimator(row.model, row.settings, seed=seed)  # a wrong setting is found before the data are loaded
    source = experiment.data.with_options(row.data, seed)
    origin = canonical_json([source.as_json(), experiment.split.as_json()])
    data = remembered("data", origin, lambda: _opened(source, experiment.split))
    split = make_split(data, experiment.split, seed)
    settings, trace = _searched(row, seed, split)
    machine.reset_peak_rss()
    estimator = make_estimator(row.model, settings, seed=seed)
    remembered_before = seconds_remembered()
    seconds = fit(estimator, split) + seconds_remembered() - remembered_before
    measured = measure(estimator, split.test, experiment.metrics, split.valid)
    return Record(
        experiment=experiment.name,
        row=row.name,
        method=row.method,
        model=row.model,
        seed=seed,
        commit=commit,
        dirty=dirty,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine.machine(),
        versions=machine.versions(*peers.libraries(row.model)),
        data=source.as_json() | {"checksum": data.fingerprint()},
        split=split.description,
        settings=settings,
        search=trace,
        seconds=seconds,
        peak_rss_bytes=machine.peak_rss_bytes(),
        metrics=measured.values,
        standard_error=measured.standard_error,
        paper=row.paper,
        peer=row.peer,
        code=code,
        per_user=_per_user(experiment, split, measured),
        together=is_remembering(),
    )


def run_experiment(
    experiment: Experiment,
    *,
    row: str | None = None,
    seed: int | None = None,
    force: bool = False,
    missing: bool = False,
    together: bool = False,
) -> Iterator[tuple[Record, bool]]:
    """Run the rows that have no record yet for the code as it is, and yield each record with whether it is new.

    `row` is the name of one, or a pattern of names as in a shell. With `missing` a record of other code stays, too;
    with `force` none does. Each runs in a process of its own or, `together`, in
    this one, which remembers what rows have in common, such as the data.
    """
    if force and missing:
        raise ValueError("force must not come with missing: the one runs every row again, the other none")
    rows = experiment.rows if row is None else experiment.matching(row)
    with ExitStack() as stack:
        if together:
            stack.enter_context(remembering())
        run = run_row if together else run_in_own_process
        yield from _run_rows(experiment, rows, experiment.seeds if seed is None else (seed,), force, missing, run)


def _run_rows(
    experiment: Experiment, rows: Sequence[Row], seeds: Sequence[int], force: bool, missing: bool, run: RunRow
) -> Iterator[tuple[Record, bool]]:
    for chosen in rows:
        for number in seeds:
            path = record_path(experiment, chosen, number)
            if not force and path.exists():
                record = read_record(path)
                if missing or record.code == spec_hash(experiment, chosen, machine.code_hash(family_of(chosen.model))):
                    yield record, False
                    continue
            logger.info("running %s, row %s, seed %d", experiment.name, chosen.name, number)
            record = run(experiment, chosen, number)
            write_record(record, path)
            yield record, True


def data_are_here(experiment: Experiment) -> bool:
    """Say whether an experiment can run without a download."""
    name = experiment.data.name
    return Path(name).exists() if is_file(name) else datasets.locate(name) is not None


def run_in_own_process(experiment: Experiment, row: Row, seed: int) -> Record:
    """Run a row in a new process, so that its peak memory is its own and not that of the rows before it."""
    # spawn, not fork: a forked child begins with its parent's memory and with locks its threads may hold.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        1, mp_context=context, initializer=show_progress_here, initargs=(progress_is_shown(),)
    ) as pool:
        try:
            return pool.submit(run_row, experiment, row, seed).result()
        except BrokenProcessPool:
            raise OSError(
                f"row {row.name!r} with seed {seed} was killed by the system, which usually means out of memory; "
                "run it alone or on a larger machine"
            ) from None


def show_progress_here(shown: bool) -> None:
    """Switch progress on for the rest of this process: context variables do not cross into a new one."""
    show_progress(shown).__enter__()


def _opened(source: DataSpec, split: SplitSpec) -> Any:
    data = open_data(source, split)
    return with_embeddings(data, source) if source.embed else data


def _per_user(experiment: Experiment, split: Division, measured: Measured) -> PerUser | None:
    if experiment.paired is None:
        return None
    assert measured.ranking is not None  # the metric is one of ranking
    metric = experiment.paired.metric
    return PerUser.keep(metric, split.test, measured.ranking.per_user[metric])


def _searched(row: Row, seed: int, split: Division) -> tuple[dict[str, Any], dict[str, Any] | None]:
    if row.search is None:
        return dict(row.settings), None
    metric, valid = row.search.metric, split.valid
    if valid is None:
        raise ValueError(f"split must hold out validation data for the search of row {row.name!r}, got none")

    def score(settings: dict[str, Any]) -> tuple[float, float]:
        estimator = make_estimator(row.model, row.settings | settings, seed=seed)
        seconds = fit(estimator, split)
        return measure(estimator, valid, [metric], valid).values[metric], seconds

    chosen, trace = choose(row.search, seed, score)
    return row.settings | chosen, trace
