"""`python -m oomlint.estimate.worker FILE`: reads a request from the standard input, writes the answer to FILE."""

import sys

from oomlint.estimate.worker.main import main

sys.exit(main(sys.argv[1]))
