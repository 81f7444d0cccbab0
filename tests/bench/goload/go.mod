module podrail.dev/goload

go 1.22
