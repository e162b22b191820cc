"""What stands in for what is not there: data, training, environments, texts, trackers of experiments."""
