"""Fuzz targets on an in-process engine; see fuzz/README.md."""
