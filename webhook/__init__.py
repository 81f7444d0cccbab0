"""A program: AdmissionReview in, JSON Patch out."""
