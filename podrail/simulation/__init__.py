"""A cluster and a trace of jobs, replayed under several rules of placement."""
