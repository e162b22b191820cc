"""How much GPU memory a training step takes at its peak, found on a CPU and without running it."""
