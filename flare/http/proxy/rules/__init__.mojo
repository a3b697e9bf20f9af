"""What goes on and what comes back: fields, paths and facts about the client. Pure."""
