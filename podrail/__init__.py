"""The rules: what a pod gets, where it fits best and why. Values and functions only, no I/O."""
