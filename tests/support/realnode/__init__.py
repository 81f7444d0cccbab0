"""A real node for the tests' control plane: kubelet, containerd, runc, CNI plugins and Multus.

It lives in mount, process and network namespaces of its own, so that no two meet on one machine
and nothing of it outlives its first process.
"""
