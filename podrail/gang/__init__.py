"""The pods of one job: how many, where the bound ones are, and where the rest should go."""
