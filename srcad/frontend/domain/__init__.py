"""What the front end knows of a value: abstract values, and questions about them."""
