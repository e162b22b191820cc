"""Between an estimate and Keras: which Keras it is, weights without memory, what a step keeps, how it is compiled."""
