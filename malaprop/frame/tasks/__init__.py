"""Tasks, their outputs, the executor that runs them and the workers that do them: tasks yield, the executor writes."""
