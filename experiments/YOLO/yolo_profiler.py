#!/usr/bin/env python3
"""python experiments/YOLO/yolo_profiler.py --model yolov8n.pt, in a checkout"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                *[os.pardir] * 2, "python"))
import checkout

checkout.become(globals())
