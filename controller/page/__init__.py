"""The rail map page: what podrail.railmap knows, drawn for people. Read-only, in nobody's way."""
