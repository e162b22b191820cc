"""TensorFlow: tf.data, tensors, tapes, functions, devices, strategies."""
