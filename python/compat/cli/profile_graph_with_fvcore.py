#!/usr/bin/env python3
"""Our count beside the real fvcore's."""
import sys

from cleave.fvcore import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
