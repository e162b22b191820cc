"""Engine graph: the lives of the buffers of the traced step, in the order in which TensorFlow runs it."""
