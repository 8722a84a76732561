import torch

from gossamer.models.counts.climbing import dot
from gossamer.models.counts.limited_memory import MEMORY, LimitedMemory


def quadratics(num_rows=3, width=4):
    generator = torch.Generator().manual_seed(0)
    root = torch.randn(num_rows, width, width, generator=generator, dtype=torch.float64)
    return root @ root.mT + torch.eye(width), torch.randn(num_rows, width, generator=generator).double()


def test_with_exact_steps_a_quadratic_is_climbed_in_as_many_steps_as_dimensions():
    curvature, pull = quadratics()
    memory, x = LimitedMemory(), torch.zeros_like(pull)
    gradient = pull.clone()
    for _ in range(4):
        direction = memory.direction(gradient, lambda vector: vector * 0.7)
        length = dot(gradient, direction) / dot(direction, torch.einsum("bij,bj->bi", curvature, direction))
        x = x + length * direction
        after = pull - torch.einsum("bij,bj->bi", curvature, x)
        memory, gradient = memory.after(length * direction, gradient - after), after
    torch.testing.assert_close(x, torch.linalg.solve(curvature, pull))


def test_the_last_step_is_remembered_exactly():
    """The secant equation: the memory's inverse curvature turns the last fall of the gradient into the last step."""
    curvature, _ = quadratics()
    memory = LimitedMemory()
    for seed in range(3):
        step = torch.randn(3, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        fall = torch.einsum("bij,bj->bi", curvature, step)
        memory = memory.after(step, fall)
    torch.testing.assert_close(memory.direction(fall, lambda vector: vector), step)


def test_without_memory_the_preconditioned_gradient():
    gradient = torch.randn(2, 3)
    assert torch.equal(LimitedMemory().direction(gradient, lambda vector: 2 * vector), 2 * gradient)


def test_steps_not_made_and_convex_ones_leave_no_trace():
    gradient, nothing = torch.randn(2, 3), torch.zeros(2, 3)
    uphill = torch.ones(2, 3)
    memory = LimitedMemory().after(nothing, nothing).after(uphill, -uphill)
    assert torch.equal(memory.direction(gradient, lambda vector: 2 * vector), 2 * gradient)


def test_never_descends_and_forgets_the_oldest():
    generator = torch.Generator().manual_seed(0)
    memory = LimitedMemory()
    for _ in range(MEMORY + 3):
        step, fall, gradient = torch.randn(3, 40, 3, generator=generator)
        memory = memory.after(step, fall)
        direction = memory.direction(gradient, lambda vector: vector * 0.1)
        assert bool((dot(gradient, direction) > 0).all())
    assert len(memory.steps) == len(memory.falls) == MEMORY


def test_rows_go_on_alone_as_they_would_together():
    step, gradient = torch.randn(2, 3, 2, generator=torch.Generator().manual_seed(0))
    memory, keep = LimitedMemory().after(step, step * 3), torch.tensor([True, False, True])
    together = memory.direction(gradient, lambda vector: vector)
    torch.testing.assert_close(memory.take(keep).direction(gradient[keep], lambda vector: vector), together[keep])
