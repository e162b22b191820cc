"""What rules ask of a trace in common is worked out once for it, and anew for another."""

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.queries.once import once_per_trace
from oomlint.syntax.parse import parse


def test_one_answer_for_each_trace():
    asked = []

    @once_per_trace
    def lines(trace):
        asked.append(trace)
        return len(asked)

    first, second = (dry_run(parse(document_from_text(text, "a.py"))) for text in ("x = 1\n", "y = 2\n"))
    assert [lines(first), lines(second), lines(first), lines(second)] == [1, 2, 1, 2]
    assert asked == [first, second]
