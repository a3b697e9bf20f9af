module differential/judge

go 1.23
