"""The job that most of lesson 12 prices."""

MODEL, SYSTEM, BATCH = "gpt3-175b", "dgx-a100", 1536
PLAN = {"tensor": 8, "pipeline": 8}
SEQUENCES = 2048  # of a step
