"""Our custom resources for the API server: recorded schemas, a sentence a field, and CEL rules.

It so refuses early what a reader would refuse; the reader stays the judge, since a rule that CEL
cannot afford is only there.
"""
