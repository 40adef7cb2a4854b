"""What do k-anonymous maps give away, and what do private ones? One module for each attack."""
