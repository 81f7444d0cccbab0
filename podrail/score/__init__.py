"""What a node is worth to a pod, part by part, from the state in which the node is."""
