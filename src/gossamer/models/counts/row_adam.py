"""Adam that reads and writes only the rows of a matrix that a batch has touched, and still is Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer

from gossamer.core.checks import check_real
from gossamer.models.counts.kernels import catch_up_rows, update_rows
from gossamer.models.counts.sparse_layer import SparseInputLayer


def make_adam(
    module: nn.Module, learning_rate: float, betas: tuple[float, float] = (0.9, 0.999), *, weight_decay: float = 0.0
) -> Optimizer:
    """Return Adam for all parameters of `module`: torch's fused one, or `RowAdam` where gradients are row-sparse.

    With `weight_decay` every update also shrinks matrices by learning_rate · weight_decay of themselves (AdamW);
    biases are spared, because how popular terms are is no sign of overfitting.
    """
    check_real("learning_rate", learning_rate, above=0)
    check_real("weight_decay", weight_decay, at_least=0)
    layers = [part for part in module.modules() if isinstance(part, SparseInputLayer) and part.sparse_gradient]
    if weight_decay > 0:
        if layers:
            raise ValueError(f"weight_decay must be 0 where gradients are row-sparse, got {weight_decay}")
        matrices = [parameter for parameter in module.parameters() if parameter.ndim > 1]
        biases = [parameter for parameter in module.parameters() if parameter.ndim <= 1]
        groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": biases, "weight_decay": 0.0}]
        return AdamW([group for group in groups if group["params"]], lr=learning_rate, betas=betas, fused=True)
    if not layers:
        return Adam(module.parameters(), lr=learning_rate, betas=betas, fused=True)
    optimiser = RowAdam(module.parameters(), learning_rate, betas=betas)
    for layer in layers:
        layer.attach(optimiser)
    return optimiser


class RowAdam(Adam):
    """Adam (Kingma & Ba 2015) with the work of row-sparse gradients in proportion to their rows.

    Without a gradient Adam goes on moving a parameter by its momentum: a rare term goes nine times as far after its
    batch as in it, which "lazy" Adams leave out. Here a row makes up for the updates it has missed, by a sum in closed
    form, when it is next read (`catch_up`). The result is that of the dense Adam to rounding, but for two things: `eps`
    stays at its share of the row's last update, and a changed learning rate holds for all that is made up for.
    """

    def __init__(
        self, params: Any, lr: float = 1e-3, *, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, fused=True)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one update: row by row where the gradient is row-sparse, as torch's Adam everywhere else."""
        if closure is not None:
            raise ValueError("closure must be None: rows are brought up to date by the forward pass of a batch")
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and parameter.grad.is_sparse:
                    self._update(parameter, group, *_rows_and_values(parameter.grad))
                    parameter.grad = None  # done: torch's own step below would refuse it
        return super().step()

    @torch.no_grad()
    def catch_up(self, parameter: Tensor, rows: Int[np.ndarray, " U"] | None = None) -> None:
        """Make the updates that distinct `rows` of `parameter` (None: all) have missed."""
        group = self._group_of(parameter)
        if group is None or "last_update" not in self.state.get(parameter, {}):
            return
        state = self.state[parameter]
        wanted = np.arange(len(parameter)) if rows is None else rows
        catch_up_rows(*_arrays(parameter, state), wanted, int(state["step"]), _settings(group))

    def state_dict(self) -> dict[str, Any]:
        """Return the state, after bringing all rows up to date: parameters are saved beside it."""
        for parameter in self.state:
            self.catch_up(parameter)
        return super().state_dict()

    def _update(
        self,
        parameter: nn.Parameter,
        group: dict[str, Any],
        rows: Int[np.ndarray, " U"],
        values: Float[np.ndarray, "U D"],
    ) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32)
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
            # Not of integers, because torch casts what it loads to the dtype of the parameter: exact up to 2²⁴ updates.
            state["last_update"] = parameter.new_zeros(len(parameter))
        self.catch_up(parameter, rows)  # as good as free if the forward pass has done it
        state["step"] += 1
        update_rows(*_arrays(parameter, state), rows, values, int(state["step"]), _settings(group))

    def _group_of(self, parameter: Tensor) -> dict[str, Any] | None:
        for group in self.param_groups:
            if any(own is parameter for own in group["params"]):
                return group
        return None


def _rows_and_values(gradient: Tensor) -> tuple[Int[np.ndarray, " U"], Float[np.ndarray, "U D"]]:
    """Return the distinct rows of a row-sparse gradient and their values."""
    rows, values = gradient._indices()[0], gradient._values()
    # Our layer's rows rise, but autograd forgets to say so on the way; to sort them again would copy all values.
    if not bool((rows.diff() > 0).all()):
        summed = gradient.coalesce()
        rows, values = summed.indices()[0], summed.values()
    return rows.numpy(), values.contiguous().numpy()


def _arrays(parameter: Tensor, state: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the memory of a parameter and of its moments, in the order of the kernels."""
    mean, square, last_update = (state[name].numpy() for name in ("exp_avg", "exp_avg_sq", "last_update"))
    return parameter.detach().numpy(), mean, square, last_update


def _settings(group: dict[str, Any]) -> tuple[float, float, float, float]:
    first, second = group["betas"]
    return float(group["lr"]), float(first), float(second), float(group["eps"])
