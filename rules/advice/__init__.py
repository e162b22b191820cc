"""9xx: advice, off unless it is selected."""
