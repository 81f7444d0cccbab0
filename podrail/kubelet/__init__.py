"""What a node's kubelet will do with a pod: refuse it, or give it which GPUs and NICs."""
