"""What agents say and how they decide: one folder per family."""
