"""How `tools/walk.py` finds which functions run on one request."""
