"""The methods, one file each; a file here is found without being named anywhere else."""
