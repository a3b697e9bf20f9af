"""multipart/form-data, read and written; pure."""
