"""What scripts for older Keras, TensorFlow and add-on libraries name, as the Keras that is installed has it."""
