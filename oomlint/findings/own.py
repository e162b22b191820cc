"""The codes of oomlint itself, family 0: what it says about a file rather than about its training."""

from __future__ import annotations

from oomlint.findings.model import Rule, Safety, Severity

UNUSED_SUPPRESSION = Rule("OOM000", "unused-suppression", Severity.NOTE, Safety.SAFE, literals=())
SYNTAX_ERROR = Rule("OOM001", "syntax-error", Severity.ERROR, None, literals=())
INTERNAL_ERROR = Rule("OOM002", "internal-error", Severity.ERROR, None, literals=())

PAGES = {
    UNUSED_SUPPRESSION: """\
A suppression comment that suppresses nothing.

## What it does
Reports `# noqa: OOM...` and `# oomlint: ignore[...]` comments whose codes do not occur there.

## Why is this bad?
The mistake that it excused is gone, or the code is mistyped. Left in place it hides the next one.

## Example
```python
import tensorflow as tf

x = tf.zeros(3)  # noqa: OOM301
```

## Use instead
```python
import tensorflow as tf

x = tf.zeros(3)
```

## Fix safety
Safe: only the comment goes.

## References
- `# oomlint: ignore[CODE]` is the suppression that other linters leave alone.
""",
    SYNTAX_ERROR: """\
A file that Python 3 cannot parse.

## What it does
Reports a file that names Keras or TensorFlow and does not parse, so that no rule could look at it. Where Python
parses it and only oomlint's own parser does not, that is a warning.

## Why is this bad?
The script ends before it starts, and what else is wrong with it stays unknown.

## Example
```python
import tensorflow as tf
print "step", tf.constant(1)
```

## Use instead
```python
import tensorflow as tf
print("step", tf.constant(1))
```

## Fix safety
No fix.

## References
- `2to3` and its successors convert Python 2 scripts.
""",
    INTERNAL_ERROR: """\
A rule of oomlint failed on a file.

## What it does
Names the rule that raised an exception, and the exception. The findings of the other rules stand, and the
exit status is 2.

## Why is this bad?
It is a bug of oomlint, or of a rule that was installed beside it. Please report it with the file, or with as
much of it as still shows it.

## Example
```text
train.py:1:1: OOM002 rule OOM301 failed: KeyError: 'shape'
```

## Use instead
```text
oomlint check --ignore OOM301 train.py
```

## Fix safety
No fix.

## References
- The project's issue tracker.
""",
}
OWN_RULES = tuple(PAGES)
