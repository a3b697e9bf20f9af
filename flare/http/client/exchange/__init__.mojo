"""A request under way, over either version of HTTP: attempts, redirections, challenges, and what is kept between requests."""
