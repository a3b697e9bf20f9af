// The hello server of the benchmarks on fasthttp, which has no router: a switch
// on the path stands for one.
// Usage: server [-prefork] PORT; GOMAXPROCS is the number of workers, BENCH_HOST
// the address, by default loopback.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"log"
	"os"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/prefork"
)

var (
	hello = []byte("Hello, World!")
	done  = []byte("OK")
	users = []byte("/users/")
	large = bytes.Repeat([]byte("x"), 65536)
)

type greeting struct {
	Message string `json:"message"`
}

func answer(ctx *fasthttp.RequestCtx) {
	path := ctx.Path()
	if bytes.HasPrefix(path, users) {
		ctx.SetBodyString("user " + string(path[len(users):]))
		return
	}
	switch string(path) {
	case "/":
		ctx.Response.SetBodyRaw(hello)
	case "/json":
		body, _ := json.Marshal(greeting{"Hello, World!"})
		ctx.SetContentType("application/json")
		ctx.Response.SetBodyRaw(body)
	case "/64k":
		ctx.Response.SetBodyRaw(large)
	case "/upload":
		if !ctx.IsPost() {
			ctx.Error("POST only", fasthttp.StatusMethodNotAllowed)
			return
		}
		ctx.Response.SetBodyRaw(done)
	default:
		ctx.Error("not found", fasthttp.StatusNotFound)
	}
}

func main() {
	forks := flag.Bool("prefork", false, "one process for each of GOMAXPROCS")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: server [-prefork] PORT")
	}
	host := os.Getenv("BENCH_HOST")
	if host == "" {
		host = "127.0.0.1"
	}
	address := host + ":" + flag.Arg(0)
	server := &fasthttp.Server{Handler: answer}
	if *forks {
		master := prefork.New(server)
		master.Reuseport = true // a listener for each process, as the others have
		master.OnMasterDeath = func() { os.Exit(1) }
		log.Fatal(master.ListenAndServe(address))
	}
	log.Fatal(server.ListenAndServe(address))
}
