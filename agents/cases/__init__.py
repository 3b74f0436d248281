"""Small scenarios to check each protocol with, drawn at random: one file per system."""
