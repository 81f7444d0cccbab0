"""A program to come: /sys, /proc and kubelet PodResources in, one NodeRails object per node out."""
