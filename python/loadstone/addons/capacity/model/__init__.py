"""The queueing model of a system, made from what its requests cost."""
