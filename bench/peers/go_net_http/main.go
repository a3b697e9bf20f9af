// The hello server of the benchmarks on Go's net/http.
// Usage: server PORT [CERTIFICATE KEY]; GOMAXPROCS is the number of threads that run Go code.
package main

import (
	"bytes"
	"crypto/tls"
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
	if len(os.Args) != 2 && len(os.Args) != 4 {
		log.Fatal("usage: server PORT [CERTIFICATE KEY]")
	}
	done := fixed("2", []byte("OK"))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", fixed("13", []byte("Hello, World!")))
	mux.HandleFunc("GET /64k", fixed("65536", bytes.Repeat([]byte("x"), 65536)))
	mux.HandleFunc("POST /upload", func(writer http.ResponseWriter, request *http.Request) {
		io.Copy(io.Discard, request.Body)
		done(writer, request)
	})
	server := &http.Server{Addr: "127.0.0.1:" + os.Args[1], Handler: mux}
	if len(os.Args) == 2 {
		log.Fatal(server.ListenAndServe())
	}
	// HTTP/1.1 alone, and no tickets, so that every handshake is a full one.
	server.TLSConfig = &tls.Config{
		NextProtos:             []string{"http/1.1"},
		SessionTicketsDisabled: true,
	}
	server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	log.Fatal(server.ListenAndServeTLS(os.Args[2], os.Args[3]))
}
