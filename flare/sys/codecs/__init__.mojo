"""Libraries of content codings, loaded at run time: zlib, brotli, zstd."""
