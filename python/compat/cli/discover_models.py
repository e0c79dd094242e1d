#!/usr/bin/env python3
"""Lists the models there are."""
from cleave.live import names

if __name__ == "__main__":
    print("\n".join(names()))
