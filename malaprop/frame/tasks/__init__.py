"""What a study is made of. A task yields what it finds; one executor hands tasks out and writes."""
