"""The HTTP client: its shells around the pure cores of `flare.http.h1`."""
