"""What tests of programs need: a client without a socket."""

from flare.testing.test_client import TestClient
