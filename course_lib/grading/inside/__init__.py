"""What runs inside the sandbox, beside the learner's code. It knows no question, no answer and no secret."""
