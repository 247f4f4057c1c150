"""Studies of data and methods: what is missing and which method to take, and which method comes nearest."""
