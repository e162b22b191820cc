"""A training step of the model: the shapes of its batch, its losses, its own form, what trains beside it."""
