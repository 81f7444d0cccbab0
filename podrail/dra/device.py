"""What a device class hands out, told by its name: nothing else of a class is known everywhere."""

import re
from typing import Final

NIC: Final = re.compile(
    r"(?:.*[.-])?(?:[a-z]?rdma|nics?|netdev|net|dranet|sriov|efa|roce|infiniband|rails?)(?:[.-].*)?"
)
"""Names of classes of NICs, such as mrdma.google.com, dranet.net or erdma.alibaba.dra.net."""
GPU: Final = re.compile(r"(?:.*[.-])?gpus?(?:[.-].*)?")
"""Names of classes of whole GPUs, such as gpu.nvidia.com or gpu.amd.com."""
