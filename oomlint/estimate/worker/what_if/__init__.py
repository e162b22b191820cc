"""What is estimated anew: changes of the model, and the largest batch that fits."""
