"""What slicing, pipelining, sharding and narrow numbers cost on a real fabric."""
