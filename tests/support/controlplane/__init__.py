"""A real Kubernetes control plane for tests and for `make cluster`, out of the pinned Go modules."""
