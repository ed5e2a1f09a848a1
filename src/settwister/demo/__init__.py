"""What the demonstration is made of: data that needs no download, and models that learn it in a minute."""
