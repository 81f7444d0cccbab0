"""What a cluster shows of its fabric, and the FabricProfile that follows from it, as a draft."""
