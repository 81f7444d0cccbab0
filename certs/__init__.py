"""A program: a certificate authority and the serving certificates it signs."""
