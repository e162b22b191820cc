"""Where buffers are put: gaps that stay between them, worked out by hand."""

from __future__ import annotations

from oomlint.estimate.worker.graph.lives import Buffer, Lives
from oomlint.estimate.worker.graph.packed import gaps


def lives(*given: tuple[int, int, int], scratch: dict[int, int] | None = None) -> Lives:
    """Of buffers by size, first and last step."""
    steps = 1 + max(last for _, _, last in given)
    buffers = [
        Buffer(size, number, holders=[number], born=first, died=last)
        for number, (size, first, last) in enumerate(given)
    ]
    # One operation a step; the first ones made the buffers.
    return Lives(
        order=list(range(max(steps, len(given)))),
        buffers=buffers,
        scratch=[(scratch or {}).get(step, 0) for step in range(steps)],
    )


def test_buffers_of_a_size_that_follow_one_another_leave_none():
    assert gaps(lives((100, 0, 2), (100, 1, 3), (100, 3, 5)), set()) == 0


def test_what_is_placed_last_finds_neither_of_two_places_free():
    # By how long they live: W at 0; X, gone before W, at 0; Y, beside W for a while, at 80,000. Z is there when X goes
    # and when Y comes, so that it gets a third place, though no three of them are ever in use at once. What is small
    # makes a life as long as its steps.
    w, x, y, z = (80_000, 9, 20), (80_000, 0, 4), (80_000, 6, 10), (80_000, 4, 6)
    small = [(1, step, step) for step in range(21)]
    assert gaps(lives(w, x, y, z, *small), set()) == 80_000
    assert gaps(lives(w, x, y, *small), set()) == 0


def test_scratch_has_a_place_of_its_own():
    # 60 from 0 to 1 and 50 from 2 on share a place; what is needed in step 2 alone, 55, goes above neither.
    found = lives((60, 0, 1), (50, 2, 3), scratch={2: 55})
    assert gaps(found, set()) == 0


def test_what_lies_elsewhere_is_not_placed():
    found = lives((100, 0, 3), (60, 1, 2))
    assert gaps(found, {id(found.buffers[0])}) == 0
