"""The speed of qrank against the paper's algorithms written literally, and against what else a user could pick."""
