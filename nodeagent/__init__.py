"""The node agent: /sys, /proc and the kubelet's PodResources in, one NodeRails object out."""
