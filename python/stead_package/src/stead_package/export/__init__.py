"""Writing packages. The importing half of the library never needs this one."""
