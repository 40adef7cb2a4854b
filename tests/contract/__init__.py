"""What every structure, every mechanism and every estimate must do."""
