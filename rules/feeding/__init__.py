"""3xx: feeding the model: tf.data, fit, predict."""
