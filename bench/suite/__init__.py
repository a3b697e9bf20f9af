"""The parts of the benchmark tool, one idea a file."""
