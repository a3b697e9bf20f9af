"""What a program says of its routes: `flare routes` and `flare openapi`.

The program follows one convention: its file has a function

    def routes() raises -> Router

with all routes, which its own `main` serves. A `main` that asks the router is
generated beside it, built, and run.
"""
