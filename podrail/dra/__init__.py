"""Devices by claim (DRA): what a profile claims for its pods, and what other claims ask for."""
