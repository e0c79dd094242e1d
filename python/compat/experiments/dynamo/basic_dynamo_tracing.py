"""What Dynamo sees of small models: simple, control, loops, compare."""
import sys

from cleave.dynamo import DynamoGraphExtractor, trace_model_with_dynamo
from cleave.examples.dynamo import main

__all__ = ["DynamoGraphExtractor", "main", "trace_model_with_dynamo"]

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
