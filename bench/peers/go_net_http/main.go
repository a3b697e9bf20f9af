// The hello server of the benchmarks on Go's net/http.
// Usage: server PORT; GOMAXPROCS is the number of threads that run Go code.
package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"os"
)

const plain = "text/plain; charset=utf-8"

// fixed answers with one body; the length is set so that no body is chunked.
func fixed(length string, body []byte) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		header := writer.Header()
		header.Set("Content-Type", plain)
		header.Set("Content-Length", length)
		writer.Write(body)
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: server PORT")
	}
	done := fixed("2", []byte("OK"))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", fixed("13", []byte("Hello, World!")))
	mux.HandleFunc("GET /64k", fixed("65536", bytes.Repeat([]byte("x"), 65536)))
	mux.HandleFunc("POST /upload", func(writer http.ResponseWriter, request *http.Request) {
		io.Copy(io.Discard, request.Body)
		done(writer, request)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], mux))
}
