"""How a client reaches a server: addresses, proxies, TLS, connections that wait for nobody, the pool that keeps them, and the errors of all of it."""
