"""What the cases are, and how they are drawn."""
