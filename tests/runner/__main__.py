# SPDX-License-Identifier: Apache-2.0
"""The program behind tests/run."""
import sys

from command import main

sys.exit(main(sys.argv[1:]))
