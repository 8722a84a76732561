"""Proximal gradient steps with per-coordinate thresholds, dense and row-sparse, behind torch's optimiser interface.

Every optimiser here minimises f(w) + ‖l1 ⊙ w‖₁ (over w ≥ 0 where `nonnegative`) by

    w ← prox(w − lr · m/d,  threshold = lr · l1/d)

with m a running mean of gradients and d a positive diagonal metric that the subclass defines (SGD: d = 1 − momentum;
Adam, Yogi: d = √v + eps). Step and threshold share d, and m tends to ∇f: then 0 ∈ ∇f + l1 ∂‖w‖₁ holds exactly at the
fixed points, whatever d is. A threshold without d, as in "Adam, then shrink by lr · l1", has other fixed points and
does not give the sparsity asked for.

**Row-sparse gradients** are torch sparse COO tensors with one sparse dimension, as `nn.Embedding(sparse=True)` gives.
Only rows in the gradient are *touched*. In an untouched row

- moments and their bias correction stand still (they are averages over the gradients of *that row*, and each row has
  its own count), and momentum does not move the parameter. Decaying or applying momentum everywhere would touch every
  row at every step, which is what sparse gradients are there to avoid, and would not commute with the threshold;
- the threshold of every step still applies. Since d stands still as well, and soft thresholds compose
  (S_a ∘ S_b = S_{a+b}, with or without the sign constraint), the thresholds of all skipped steps are one threshold
  with their sum Σ lr · l1/d. It is applied when the row is next touched, or by `catch_up`. A gradient is only that of
  the dense method if the forward pass read rows that had caught up: call `catch_up(parameter, rows)` before a lookup.

A row-sparse parameter without any gradient in a step counts as untouched; a dense one is skipped, as in all of torch.
A row that was never touched has no metric under Adam (v = 0 says nothing about its curvature), so Adam's thresholds
begin with a row's first gradient; SGD and Yogi (d = √initial_accumulator + eps) charge a row from the first
gradient of its parameter on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from gossamer.core.checks import check_real
from gossamer.core.rows import put_rows_, take_rows

Group = dict[str, Any]
Moments = dict[str, Tensor]
Rows = Tensor | slice
BOOKKEEPING = frozenset({"count", "charged"})  # the state that is not moments: gradients seen, charge applied
ROWS_AT_ONCE = 1 << 16  # bounds the temporary memory of a whole catch-up


def soft_threshold(values: Tensor, threshold: Tensor | float, nonnegative: bool = False) -> Tensor:
    """Return argmin_w ½(w − values)² + threshold·|w|, elementwise, over w ≥ 0 where `nonnegative`.

    >>> soft_threshold(torch.tensor([3.0, -3.0, 0.5]), 1.0).tolist()
    [2.0, -2.0, 0.0]
    >>> soft_threshold(torch.tensor([3.0, -3.0, 0.5]), 1.0, nonnegative=True).tolist()
    [2.0, 0.0, 0.0]
    """
    if nonnegative:
        return (values - threshold).clamp(min=0)
    bound = torch.as_tensor(threshold, dtype=values.dtype, device=values.device)
    return values - values.clamp(-bound, bound)


class ProximalOptimiser(Optimizer, ABC):
    """What proximal SGD, Adam and Yogi share: groups, thresholds, and the bookkeeping of untouched rows.

    A group has `lr`, `l1` (a number, or a tensor that broadcasts to each of its parameters, such as a mask) and
    `nonnegative`. Both may be changed between steps; a tensor `l1` only after `catch_up()`, because skipped thresholds
    are kept as a sum of learning rates. `exempt`, a boolean tensor of its parameter's shape, marks entries that are
    never shrunk (T ≥ 0 still holds for them); it may be changed in place for rows that have caught up.
    """

    def __init__(self, params: Iterable[Any], defaults: Group) -> None:
        self._masks_in_use: dict[int, tuple[Tensor | None, int]] = {}
        super().__init__(params, {**defaults, "exempt": None, "charged": 0.0})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._masks_in_use = {}

    @abstractmethod
    def new_moments(self, group: Group, parameter: Tensor) -> Moments:
        """Return the moments of a parameter that has seen no gradient, each of its shape."""

    @abstractmethod
    def advance(self, group: Group, moments: Moments, count: Tensor, gradient: Tensor) -> Tensor:
        """Update `moments` in place with the `count`-th gradient and return the direction m."""

    @abstractmethod
    def metric(self, group: Group, moments: Moments, count: Tensor) -> Tensor:
        """Return d for moments that have seen `count` gradients, infinite where there is none yet."""

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with their own options, checking these."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        check_real("lr", group["lr"], at_least=0)
        if not isinstance(group["nonnegative"], bool):
            raise ValueError(f"nonnegative must be True or False, got {group['nonnegative']!r}")
        exempt = group["exempt"]
        for parameter in group["params"] if exempt is not None else []:
            if exempt.dtype != torch.bool or exempt.shape != parameter.shape:
                shape = tuple(parameter.shape)
                raise ValueError(f"exempt must be bool {shape}, got {exempt.dtype} {tuple(exempt.shape)}")
        l1 = group["l1"]
        if not isinstance(l1, Tensor):
            check_real("l1", l1, at_least=0)
            return
        if not bool((l1.isfinite() & (l1 >= 0)).all()):
            raise ValueError(f"l1 must be finite and >= 0 everywhere, got a minimum of {l1.min().item()}")
        for parameter in group["params"]:
            try:
                l1.expand_as(parameter)
            except RuntimeError as error:
                shape = tuple(parameter.shape)
                raise ValueError(f"l1 must broadcast to its parameter {shape}, got {tuple(l1.shape)}") from error

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Make one update; `closure` re-evaluates the loss, as everywhere in torch."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for index, group in enumerate(self.param_groups):
            self._check_mask(index, group)
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                if parameter.grad.is_sparse:
                    self._update_rows(group, parameter, parameter.grad.coalesce())
                else:
                    self._update_all(group, parameter, parameter.grad)
            group["charged"] += _charge(group)
        return loss

    @torch.no_grad()
    def catch_up(self, parameter: Tensor | None = None, rows: Tensor | None = None) -> None:
        """Apply the thresholds that untouched rows have skipped; call it before reading parameters.

        Without arguments all rows of all parameters; or those of one parameter; or only the given `rows` (B,) of it,
        which is what a lookup needs before it reads them, at the cost of these rows alone.
        """
        if rows is not None and parameter is None:
            raise ValueError("parameter must be given where rows are, got None")
        for group in self.param_groups:
            for candidate in group["params"]:
                is_meant = parameter is None or candidate is parameter
                if not is_meant or not _is_row_sparse(self.state.get(candidate, {})):
                    continue
                blocks = range(0, len(candidate), ROWS_AT_ONCE)
                slices = [slice(begin, begin + ROWS_AT_ONCE) for begin in blocks]
                for some in slices if rows is None else [rows]:
                    self._apply_skipped(group, candidate, some)
        if parameter is None:
            self._masks_in_use.clear()

    @torch.no_grad()
    def grow_rows(self, parameter: Tensor) -> None:
        """Give the rows that were appended to a row-sparse `parameter` the state of rows that saw no gradient."""
        for group in self.param_groups:
            if not any(candidate is parameter for candidate in group["params"]):
                continue
            state = self.state.get(parameter, {})
            if not state:
                return
            old = len(next(iter(_moments(state).values()), state["count"]))
            new_rows = parameter[old:]
            fresh = self.new_moments(group, new_rows)
            if _is_row_sparse(state):
                fresh["count"] = torch.zeros(len(new_rows), dtype=torch.int64, device=parameter.device)
                fresh["charged"] = torch.full_like(fresh["count"], group["charged"], dtype=torch.float64)
            for name, values in fresh.items():
                state[name] = torch.cat([state[name], values])

    @torch.no_grad()
    def forget_entries(self, parameter: Tensor, rows: Tensor, columns: Tensor) -> None:
        """Give entries (rows[i], columns[i]) of a matrix the moments of entries that saw no gradient."""
        for group in self.param_groups:
            if any(candidate is parameter for candidate in group["params"]):
                state = self.state.get(parameter, {})
                fresh = self.new_moments(group, parameter[:1, :1])
                for name, values in _moments(state).items():
                    values[rows, columns] = fresh[name].reshape(())

    def state_dict(self) -> dict[str, Any]:
        """Catch up, then return the state as torch does."""
        self.catch_up()
        return super().state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state, exactly: torch alone would cast counts and charges to the parameter's dtype."""
        super().load_state_dict(state_dict)
        saved_keys = [key for group in state_dict["param_groups"] for key in group["params"]]
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        for key, parameter in zip(saved_keys, parameters, strict=True):
            saved = state_dict["state"].get(key, {})
            for name in BOOKKEEPING & set(saved):
                self.state[parameter][name] = saved[name].to(parameter.device, copy=True)

    def _update_all(self, group: Group, parameter: Tensor, gradient: Tensor) -> None:
        state = self._state_of(group, parameter, row_sparse=False)
        state["count"] += 1
        moments = _moments(state)
        direction = self.advance(group, moments, state["count"], gradient)
        metric = self.metric(group, moments, state["count"])
        parameter.addcdiv_(direction, metric, value=-group["lr"])
        if group["nonnegative"] or _charge(group):
            parameter.copy_(_shrink(group, parameter, _thresholds(group, parameter, _charge(group) / metric)))

    def _update_rows(self, group: Group, parameter: Tensor, gradient: Tensor) -> None:
        if gradient.sparse_dim() != 1:
            raise ValueError(f"a sparse gradient must have one sparse dimension, got {gradient.sparse_dim()}")
        state = self._state_of(group, parameter, row_sparse=True)
        rows = gradient.indices()[0]
        self._apply_skipped(group, parameter, rows)
        counts = _take(state["count"], rows) + 1
        count = _as_column(counts, parameter)
        moments = _moments(state, rows)  # copies
        direction = self.advance(group, moments, count, gradient.values())
        metric = self.metric(group, moments, count)
        moved = _take(parameter, rows) - group["lr"] * direction / metric
        shrunk = _shrink(group, moved, _thresholds(group, parameter, _charge(group) / metric, rows))
        put_rows_(parameter, rows, shrunk)
        for name, values in moments.items():
            put_rows_(state[name], rows, values)
        put_rows_(state["count"], rows, counts)
        state["charged"].index_fill_(0, rows, group["charged"] + _charge(group))

    def _apply_skipped(self, group: Group, parameter: Tensor, rows: Rows) -> None:
        """Bring rows up to the last finished step: one threshold with the sum of those they have skipped."""
        state = self.state[parameter]
        owed = group["charged"] - _take(state["charged"], rows)
        if not bool(owed.any()):  # most often: a lookup has just brought these rows up to date
            return
        skipped = _as_column(owed, parameter).to(parameter.dtype)
        count = _as_column(_take(state["count"], rows), parameter)
        metric = self.metric(group, _moments(state, rows), count)
        shrunk = _shrink(group, _take(parameter, rows), _thresholds(group, parameter, skipped / metric, rows))
        if isinstance(rows, Tensor):
            put_rows_(parameter, rows, shrunk)
            state["charged"].index_fill_(0, rows, group["charged"])
        else:
            parameter[rows] = shrunk
            state["charged"][rows] = group["charged"]

    def _state_of(self, group: Group, parameter: Tensor, *, row_sparse: bool) -> dict[str, Tensor]:
        state: dict[str, Tensor] = self.state[parameter]
        if not state:
            shape = (len(parameter),) if row_sparse else ()
            state.update(self.new_moments(group, parameter))
            state["count"] = torch.zeros(shape, dtype=torch.int64, device=parameter.device)
            if row_sparse:
                state["charged"] = torch.full_like(state["count"], group["charged"], dtype=torch.float64)
        elif row_sparse != _is_row_sparse(state):
            kinds = ("row-sparse", "dense") if row_sparse else ("dense", "row-sparse")
            raise ValueError(
                "gradients of a parameter must be always dense or always row-sparse, "
                f"got a {kinds[0]} one after {kinds[1]} ones for shape {tuple(parameter.shape)}"
            )
        return state

    def _check_mask(self, index: int, group: Group) -> None:
        """Refuse a tensor `l1` that changed while rows still owe thresholds under the old one."""
        l1 = group["l1"]
        mask, version = (l1, l1._version) if isinstance(l1, Tensor) else (None, 0)
        known, known_version = self._masks_in_use.get(index, (mask, version))
        owes = any(_is_row_sparse(self.state.get(parameter, {})) for parameter in group["params"])
        if owes and (known is not mask or known_version != version):
            raise ValueError(
                "l1 must stay the same while rows have skipped thresholds, got another tensor; "
                "call catch_up() before changing it"
            )
        self._masks_in_use[index] = (mask, version)


def _is_row_sparse(state: dict[str, Tensor]) -> bool:
    return "charged" in state


def _moments(state: dict[str, Tensor], rows: Rows | None = None) -> Moments:
    names = [name for name in state if name not in BOOKKEEPING]
    return {name: state[name] if rows is None else _take(state[name], rows) for name in names}


def _take(values: Tensor, rows: Rows) -> Tensor:
    return take_rows(values, rows) if isinstance(rows, Tensor) else values[rows]


def _charge(group: Group) -> float:
    """Return this step's threshold before division by the metric and multiplication with the mask."""
    l1 = 1.0 if isinstance(group["l1"], Tensor) else group["l1"]
    return float(group["lr"] * l1)


def _thresholds(group: Group, parameter: Tensor, threshold: Tensor, rows: Rows | None = None) -> Tensor:
    """Return `threshold` multiplied with a tensor `l1`, and zero where an entry is exempt."""
    if isinstance(group["l1"], Tensor):
        mask = group["l1"].to(parameter).expand_as(parameter)
        threshold = threshold * (mask if rows is None else _take(mask, rows))
    exempt = group["exempt"]
    if exempt is None:
        return threshold
    return torch.where(exempt if rows is None else _take(exempt, rows), 0.0, threshold).to(parameter.dtype)


def _shrink(group: Group, values: Tensor, threshold: Tensor) -> Tensor:
    return soft_threshold(values, threshold, group["nonnegative"])


def _as_column(per_row: Tensor, parameter: Tensor) -> Tensor:
    """Shape one number per row so that it broadcasts against rows of `parameter`."""
    return per_row.reshape(-1, *[1] * (parameter.dim() - 1))
