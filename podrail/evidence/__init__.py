"""What tells of a node's topology: each kind of evidence in a module of its own, text to value.

None of them guesses rails (`rails` does, last) and none knows of another (`merge` does).
"""
