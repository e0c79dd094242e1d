#!/usr/bin/env python3
"""The unified profiler: any model, by whichever way of tracing works."""
import sys

from cli.profile_graph import MODEL_REGISTRY, profile_model, show_table
from cli.profile_graph import unified as main

__all__ = ["MODEL_REGISTRY", "abbreviate_name", "main", "profile_model",
           "show_table"]


def abbreviate_name(name, width=48):
    """A name of Dynamo's as a path."""
    from cleave.torch import abbreviate    # the rest works without PyTorch
    return abbreviate(name, width)


if __name__ == "__main__":
    sys.exit(main())
