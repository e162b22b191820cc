"""Engine xla: the step compiled for the GPU by XLA's own compiler, on a machine that has none."""
