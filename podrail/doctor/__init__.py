"""What an installation lacks: checks as pure functions over a cluster's documents."""
