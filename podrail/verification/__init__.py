"""Measures a fabric: what runs on which nodes, what its tables say, and which node is slow."""
