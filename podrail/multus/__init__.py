"""Multus's words: networks annotation, NADs, CNI configurations, and what is wrong with them."""
