"""A program: filter, prioritize and bind for kube-scheduler."""
