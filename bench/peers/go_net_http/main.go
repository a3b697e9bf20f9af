// The hello server of the benchmarks on Go's net/http.
// Usage: server PORT [CERTIFICATE KEY]; GOMAXPROCS is the number of threads that run Go code,
// BENCH_HOST the address, by default loopback; BENCH_HTTP2 makes it speak HTTP/2.
package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"

	"github.com/gorilla/websocket"
)

type greeting struct {
	Message string `json:"message"`
}

const plain = "text/plain; charset=utf-8"

// write answers with a body; the length is set so that no body is chunked.
func write(writer http.ResponseWriter, kind string, body []byte) {
	header := writer.Header()
	header.Set("Content-Type", kind)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	writer.Write(body)
}

func fixed(kind string, body []byte) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) { write(writer, kind, body) }
}

var upgrader = websocket.Upgrader{}

// echo sends each message back.
func echo(writer http.ResponseWriter, request *http.Request) {
	connection, err := upgrader.Upgrade(writer, request, nil)
	if err != nil {
		return
	}
	defer connection.Close()
	for {
		kind, message, err := connection.ReadMessage()
		if err != nil || connection.WriteMessage(kind, message) != nil {
			return
		}
	}
}

func address(port string) string {
	host := os.Getenv("BENCH_HOST")
	if host == "" {
		host = "127.0.0.1"
	}
	return host + ":" + port
}

func main() {
	if len(os.Args) != 2 && len(os.Args) != 4 {
		log.Fatal("usage: server PORT [CERTIFICATE KEY]")
	}
	done := fixed(plain, []byte("OK"))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", fixed(plain, []byte("Hello, World!")))
	mux.HandleFunc("GET /json", func(writer http.ResponseWriter, request *http.Request) {
		body, _ := json.Marshal(greeting{"Hello, World!"})
		write(writer, "application/json", body)
	})
	mux.HandleFunc("GET /users/{id}", func(writer http.ResponseWriter, request *http.Request) {
		write(writer, plain, []byte("user "+request.PathValue("id")))
	})
	mux.HandleFunc("GET /64k", fixed(plain, bytes.Repeat([]byte("x"), 65536)))
	mux.HandleFunc("GET /ws", echo)
	mux.HandleFunc("POST /upload", func(writer http.ResponseWriter, request *http.Request) {
		io.Copy(io.Discard, request.Body)
		done(writer, request)
	})
	server := &http.Server{Addr: address(os.Args[1]), Handler: mux}
	hasHTTP2 := os.Getenv("BENCH_HTTP2") != ""
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(!hasHTTP2)
	server.Protocols.SetHTTP2(hasHTTP2)
	server.Protocols.SetUnencryptedHTTP2(hasHTTP2)
	if len(os.Args) == 2 {
		log.Fatal(server.ListenAndServe())
	}
	// No tickets, so that every handshake is a full one.
	server.TLSConfig = &tls.Config{SessionTicketsDisabled: true}
	log.Fatal(server.ListenAndServeTLS(os.Args[2], os.Args[3]))
}
