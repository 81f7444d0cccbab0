"""The podrail command."""
