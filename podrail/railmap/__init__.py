"""The rail map: what there is to see of a cluster's rails, as values that page and JSON share."""
