"""Pages of memory, below everything else."""
