"""The dry run: an abstract interpreter that turns a parsed script into a trace."""
