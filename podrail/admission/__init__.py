"""From an AdmissionReview to a JSON Patch: the rules that give a pod its rails."""
