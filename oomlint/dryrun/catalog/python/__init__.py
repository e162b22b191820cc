"""Python itself: builtins, containers, the standard library, command lines."""
