"""A program to come: profile status, audit of pods that slipped through, the rail map page."""
