"""Stand-ins for the object store and for ModelArts, on loopback and without an account."""
