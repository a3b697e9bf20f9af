"""What a program says to a client and hears from it: settings, requests, responses."""
