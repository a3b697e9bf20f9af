module bench/client

go 1.24
