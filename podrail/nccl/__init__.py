"""What NCCL and its neighbours read and log, and what a profile may set of it."""
