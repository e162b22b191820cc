"""The example package has tests of its own, which run where it is installed."""

collect_ignore = ["third_party"]
