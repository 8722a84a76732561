"""Pure functions from (prediction, truth) to one value per example, each with its convention in the signature."""
