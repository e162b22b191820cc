"""Questions about a trace that more than one rule asks, or that fill a module of their own."""
