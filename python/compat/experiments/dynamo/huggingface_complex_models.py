"""What Dynamo sees of models of Hugging Face: --model detr|bert|vit|all."""
import sys

from cleave.dynamo import (DynamoGraphExtractor, save_graph_to_file,
                           trace_model_with_dynamo)
from cleave.examples.huggingface import main

__all__ = ["DynamoGraphExtractor", "main", "save_graph_to_file",
           "trace_model_with_dynamo"]

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
