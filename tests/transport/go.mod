module podrail.dev/transport

go 1.22
