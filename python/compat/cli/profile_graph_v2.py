#!/usr/bin/env python3
"""The unified profiler: any model, by whichever way of tracing works."""
import sys

from cleave.torch import abbreviate as abbreviate_name
from cli.profile_graph import (MODEL_REGISTRY, main, profile_model, show_table)

__all__ = ["MODEL_REGISTRY", "abbreviate_name", "main", "profile_model",
           "show_table"]

if __name__ == "__main__":
    sys.exit(main())
