"""The model and the machines of lesson 10."""

MODEL, GPU = "deepseek-v3", "gb200"
BOXES, RACK = "dgx-b200", "gb200-nvl72"
