"""The shell script of a measuring pod: first its own GPUs, then each rail against its peer.

What it prints between marks is what `record` reads. Both pods of a pair go through the rails in the
same order; a rail has a port of its own, so one that is missing on one side delays no other. Where
pods have networks, a rail is the RDMA device of an interface: the kernel tells it in
gid_attrs/ndevs. Without networks (InfiniBand) rails are the devices in the order of their names.
"""

from typing import Final

MARK: Final = "@podrail"
"""The first word of every line that is not a tool's."""
TEXT: Final = r"""SYS=${SYS:-/sys}; SECONDS_EACH=${SECONDS_EACH:-5}; PATIENCE=${PATIENCE:-120}
say() { echo "@podrail $*"; }
say node "$NODE"
if command -v all_reduce_perf >/dev/null; then
  say local "$GPUS"
  all_reduce_perf -b 1G -e 1G -g "$GPUS" -w 2 -n 10 || say failed local
else
  say missing all_reduce_perf
fi
device_of() {
  for ndev in "$SYS"/class/infiniband/*/ports/1/gid_attrs/ndevs/*; do
    if [ "$(cat "$ndev" 2>/dev/null)" = "$1" ]; then
      device=${ndev#"$SYS"/class/infiniband/}; echo "${device%%/*}"; return
    fi
  done
}
rails=$RAILS
if [ "$rails" = none ]; then rails=
elif [ -z "$rails" ]; then
  for device in $(ls "$SYS/class/infiniband" 2>/dev/null | sort -V); do
    if grep -q InfiniBand "$SYS/class/infiniband/$device/ports/1/link_layer" 2>/dev/null; then
      rails="$rails $device"
    fi
  done
  [ -n "$rails" ] || say missing devices
fi
port=18515
[ -z "$rails" ] || command -v ib_write_bw >/dev/null || { say missing ib_write_bw; rails=; }
for rail in $rails; do
  device=$rail
  [ -z "$RAILS" ] || device=$(device_of "$rail")
  port=$((port + 1))
  if [ -z "$device" ]; then say failed "$rail" "no RDMA device of interface $rail"; continue; fi
  say rail "$rail" "$device" "$ROLE" "$PEER_NODE"
  end=$(($(date +%s) + PATIENCE))
  set -- -d "$device" -p "$port" -D "$SECONDS_EACH" -F --report_gbits $FLAGS
  if [ "$ROLE" = server ]; then
    timeout $((PATIENCE * 2)) ib_write_bw "$@" || say failed "$rail" "nobody connected"
  else
    until timeout "$PATIENCE" ib_write_bw "$@" "$PEER"; do
      if [ "$(date +%s)" -ge "$end" ]; then say failed "$rail" "no connection"; break; fi
      sleep 1
    done
  fi
done
say done
"""
