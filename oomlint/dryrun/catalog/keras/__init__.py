"""Keras: layers with their shapes, models, training, data utilities."""
