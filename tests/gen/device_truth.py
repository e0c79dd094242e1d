#!/usr/bin/env python3
"""Writes tests/data/device_truth.csv from Epoch AI's table of ML hardware.

    tests/gen/device_truth.py ml_hardware.csv > tests/data/device_truth.csv

The input is "Data on Machine Learning Hardware", epoch.ai/data (CC BY). Each
row of the output is one figure of one device as Epoch states it. Where cleave's
figure is another one on purpose, `why` says so; the test then expects the two
to differ. Figures that cleave took from Epoch itself are left out.
"""
import csv
import sys

DEVICES = {
    "v100": "NVIDIA Tesla V100 SXM2 32 GB",
    "t4": "NVIDIA Tesla T4",
    "a10": "NVIDIA A10 PCIe",
    "a40": "NVIDIA A40 PCIe",
    "a100-40": "NVIDIA A100 SXM4 40 GB",
    "a100-80": "NVIDIA A100 SXM4 80 GB",
    "l4": "NVIDIA L4",
    "h100-sxm": "NVIDIA H100 SXM5 80GB",
    "h100-pcie": "NVIDIA H100 PCIe",
    "h200": "NVIDIA H200 SXM",
    "gh200": "NVIDIA GH200",
    "b200": "NVIDIA B200",
    "mi250x": "AMD Radeon Instinct MI250X",
    "mi300x": "AMD Instinct MI300X",
    "mi325x": "AMD Instinct MI325X",
    "gaudi2": "Intel Habana Gaudi2",
    "gaudi3": "Intel Habana Gaudi3",
    "rtx-3090": "NVIDIA GeForce RTX 3090",
    "rtx-4090": "NVIDIA GeForce RTX 4090",
    "gtx-1080-ti": "NVIDIA GeForce GTX 1080 Ti",
    "tpu-v3": "Google TPU v3",
    "tpu-v4": "Google TPU v4",
    "tpu-v5e": "Google TPU v5e",
    "tpu-v5p": "Google TPU v5p",
    "tpu-v6e": "Google TPU v6e Trillium",
    "inferentia2": "AWS Inferentia2",
    "trainium1": "Amazon Trainium1",
    "trainium2": "Amazon Trainium2",
    "groq-lpu": "GroqChip LPU v1",
}
COLUMNS = {
    "fp32": "FP32 (single precision) performance (FLOP/s)",
    "tf32": "TF32 (TensorFloat-32) performance (FLOP/s)",
    "bf16": "Tensor-FP16/BF16 performance (FLOP/s)",
    "fp8": "FP8 performance (FLOP/s)",
    "int8": "INT8 performance (OP/s)",
    "bandwidth": "Memory bandwidth (byte/s)",
    "memory": "Memory size per board (Byte)",
    "tdp": "TDP (W)",
}
FP16_ONLY = {"v100"}  # tensor cores without bf16
GIB = "the vendor states GiB"
WHY = {
    ("gh200", "bandwidth"): "the 144 GB version; ours is the 96 GB one",
    ("gh200", "tdp"): "the GPU alone; ours is the whole module",
    ("b200", "fp32"): "18944 cores at 1.98 GHz give 75",
    ("b200", "bandwidth"): "7.7 in later data sheets and 8.0 in most sources",
    ("mi250x", "fp32"): "vector units; ours are the matrix cores",
    ("mi250x", "tdp"): "TDP; ours is the peak board power",
    ("gaudi2", "bf16"): "a round figure; two MMEs at 1.65 GHz give 432",
    ("gaudi3", "fp32"): "vector units; ours are the matrix engines",
    ("gaudi3", "bf16"): "clock of parts in the field; ours is the white paper",
    ("gaudi3", "fp8"): "clock of parts in the field; ours is the white paper",
    ("rtx-3090", "memory"): GIB,
    ("rtx-4090", "memory"): GIB,
    ("gtx-1080-ti", "memory"): GIB,
    ("rtx-4090", "bf16"): "FP16 accumulate; ours is FP32 accumulate",
    ("tpu-v3", "memory"): GIB,
    ("tpu-v3", "tdp"): "mean power; ours is the highest",
    ("tpu-v4", "memory"): GIB,
    ("tpu-v4", "tdp"): "mean power; ours is the highest",
    ("inferentia2", "memory"): GIB,
    ("trainium2", "memory"): GIB,
    ("trainium1", "int8"): "the Neuron documentation says 380",
    ("trainium1", "bandwidth"): "of a whole instance; ours is per chip",
}
LEFT_OUT = {
    ("mi250x", "tf32"),  # CDNA 2 has no TF32; Epoch lists matrix FP32 there
    ("groq-lpu", "tdp"),
    ("trainium2", "tdp"),
    ("tpu-v5e", "tdp"),
}


def main():
    with open(sys.argv[1], newline="", encoding="utf-8") as f:
        epoch = {row["Hardware name"]: row for row in csv.DictReader(f)}
    print("device,figure,value,why")
    for device, name in DEVICES.items():
        for figure, column in COLUMNS.items():
            text = epoch[name][column]
            if not text or (device, figure) in LEFT_OUT:
                continue
            key = "fp16" if device in FP16_ONLY and figure == "bf16" else figure
            why = WHY.get((device, figure), "")
            print(f"{device},{key},{float(text):.6g},{why}")


main()
