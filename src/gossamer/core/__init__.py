"""Tensor maths, protocols and checks that two or more rooms use."""
