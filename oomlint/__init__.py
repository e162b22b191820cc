"""oomlint reads Keras and TensorFlow training scripts and says where they will run out of memory."""

__version__ = "0.1.0"
