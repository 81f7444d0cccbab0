"""The controller: tells in each FabricProfile's status whether it can work. In nobody's way."""
