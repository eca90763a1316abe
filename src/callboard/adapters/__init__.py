"""Adapters: what stands behind the ports. Chosen by the runtime and nowhere else."""
