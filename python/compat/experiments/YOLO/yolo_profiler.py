"""The profiler of YOLO models by its older name: --model yolov8n.pt."""
import sys

from cli.profile_graph_v2 import main, profile_model

__all__ = ["main", "profile_model"]

if __name__ == "__main__":
    sys.exit(main())
