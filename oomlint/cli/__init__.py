"""The command line: one module per command; the only place that prints or exits."""


def main() -> int:
    """Entry point, to be filled in."""
    return 0
