"""Where the documentation is on the web.

The project has no host yet, and a link that leads nowhere is worse than none. Until it has one, whoever puts the site
that `mkdocs build` makes on a server of their own can say so in the environment.
"""

from __future__ import annotations

import os

HOME: str | None = None  # an address; reports link to the pages below it
_VARIABLE = "OOMLINT_DOCS_URL"


def home() -> str | None:
    """The address of the documentation, with a slash at its end; nothing if it is nowhere."""
    address = os.environ.get(_VARIABLE) or HOME
    return f"{address.rstrip('/')}/" if address else None


def rule_url(code: str) -> str | None:
    """The page of a rule. Rules of other packages are described where these are."""
    base = home()
    return f"{base}rules/{code}/" if base and code.startswith("OOM") else None
