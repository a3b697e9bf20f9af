"""Which upstream is asked, and when once more: groups, health, circuits, waiting lines."""
