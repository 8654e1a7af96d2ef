"""What is built and run beside servers: applications under test and client libraries."""
