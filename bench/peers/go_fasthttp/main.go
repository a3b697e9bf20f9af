// The hello server of the benchmarks on fasthttp.
// Usage: server [-prefork] PORT; GOMAXPROCS is the number of workers.
package main

import (
	"bytes"
	"flag"
	"log"
	"os"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/prefork"
)

var (
	hello = []byte("Hello, World!")
	done  = []byte("OK")
	large = bytes.Repeat([]byte("x"), 65536)
)

func answer(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/":
		ctx.Response.SetBodyRaw(hello)
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
	address := "127.0.0.1:" + flag.Arg(0)
	server := &fasthttp.Server{Handler: answer}
	if *forks {
		master := prefork.New(server)
		master.Reuseport = true // a listener for each process, as the others have
		master.OnMasterDeath = func() { os.Exit(1) }
		log.Fatal(master.ListenAndServe(address))
	}
	log.Fatal(server.ListenAndServe(address))
}
