"""Promise and reality: what a pod was promised, what its node shows, and what to say of it."""
