"""Examples: python -m cleave.examples.dynamo."""
