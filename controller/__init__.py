"""The controller: profiles' statuses, claim templates, reports on pods. In nobody's way."""
