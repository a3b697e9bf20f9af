"""`flare proto`: Mojo structs of messages that `.proto` files describe."""
