"""Methods for pictures with holes, one file each."""
