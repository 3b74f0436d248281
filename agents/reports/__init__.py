"""What the report page of each system shows of its own: one file per system."""
