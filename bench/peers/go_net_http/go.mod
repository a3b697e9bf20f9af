module bench/nethttp

go 1.24
