"""The only reader of Chrome JSON traces: bytes in, typed columnar tables out."""
