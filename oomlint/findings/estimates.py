"""What rules get to know of a script's estimate, where `check --estimate` asked for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.tape_training import model_of
from oomlint.estimate.result import ASSUMED_BATCH, ASSUMED_OPTIMIZER

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call, Trace
    from oomlint.dryrun.values.training import Model
    from oomlint.estimate.result import Estimate
    from oomlint.syntax.place import Place


@dataclass(frozen=True, slots=True)
class Estimated:
    """The estimate of a script's training step, and the call that trains (`fit`, `gradient`)."""

    estimate: Estimate
    call: Call

    def is_of(self, model: Model, step: Place | None) -> bool:
        """Whether it is of this model's training."""
        return model_of(self.call.receiver) is model or (step is not None and step.node is self.call.node)

    @property
    def batch_known(self) -> bool:
        """Whether the batch is the script's own."""
        return not self._assumes(ASSUMED_BATCH)

    @property
    def least_peak(self) -> int:
        """The peak, without the slots of an optimizer that is only assumed."""
        return self.estimate.peak_bytes - self._unsure

    @property
    def least(self) -> int:
        """The same for the low end of the range."""
        return self.estimate.range_bytes[0] - self._unsure

    @property
    def fitting(self) -> int | None:
        """The largest batch whose whole range fits, 0 if none does; None where it was not looked for or found.

        Rounded to what GPUs like where that gives up a quarter at most.
        """
        found = self.estimate.max_batch
        if found is None:
            return None
        sure, friendly = found["sure_batch_size"], found["friendly_batch_size"]
        return friendly if 4 * friendly >= 3 * sure else sure

    @property
    def _unsure(self) -> int:
        return self.estimate.parts.get("optimizer_state", 0) if self._assumes(ASSUMED_OPTIMIZER) else 0

    def _assumes(self, what: str) -> bool:
        return any(text.startswith(what) for text in self.estimate.assumptions)


def estimated(trace: Trace) -> Estimated | None:
    """The estimate of the script's training step; None where nobody asked, or where it failed."""
    found: Estimated | None = trace.estimate
    return found
