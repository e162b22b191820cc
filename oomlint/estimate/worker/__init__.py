"""The part that imports TensorFlow, JAX and Keras: it runs in a child process, or on a live model.

Nothing outside this package imports it but `oomlint.live`.
"""
