#!/usr/bin/env python3
"""python3 cli/profile_graph_v2.py --model resnet18, in a built checkout"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                *[os.pardir] * 1, "python"))
import checkout

checkout.become(globals())
