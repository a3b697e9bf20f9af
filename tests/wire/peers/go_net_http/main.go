// A server of Go's net/http for the client's tests: it echoes, redirects,
// delays, and counts. With a certificate and its key as arguments it speaks TLS,
// and HTTP/2 to clients that offer it; with `h2c` HTTP/2 without TLS.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

var connections atomic.Int64

type echo struct {
	Method           string
	Target           string
	Version          string
	Header           http.Header
	TransferEncoding []string
	ContentLength    int64
	Content          string
	Trailer          http.Header
}

func echoBack(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(echo{
		r.Method, r.RequestURI, r.Proto, r.Header, r.TransferEncoding,
		r.ContentLength, string(content), r.Trailer,
	})
}

func number(r *http.Request, name string) int {
	value, _ := strconv.Atoi(r.URL.Query().Get(name))
	return value
}

// redirect leads with ?code= to ?to=.
func redirect(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	http.Redirect(w, r, r.URL.Query().Get("to"), number(r, "code"))
}

// trailers sends ?count= pieces in chunks, flushed one by one, and trailers.
func trailers(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Trailer", "Sum, Count")
	sum := sha256.New()
	for index := 0; index < number(r, "count"); index++ {
		piece := []byte(strings.Repeat(strconv.Itoa(index%10), index))
		sum.Write(piece)
		w.Write(piece)
		w.(http.Flusher).Flush()
	}
	w.Header().Set("Sum", hex.EncodeToString(sum.Sum(nil)))
	w.Header().Set("Count", r.URL.Query().Get("count"))
}

// slow waits ?head= ms, sends its head, and waits ?body= ms before each of ten
// pieces.
func slow(w http.ResponseWriter, r *http.Request) {
	time.Sleep(time.Duration(number(r, "head")) * time.Millisecond)
	w.Header().Set("Content-Length", "10")
	w.(http.Flusher).Flush()
	for index := 0; index < 10; index++ {
		time.Sleep(time.Duration(number(r, "body")) * time.Millisecond)
		w.Write([]byte("x"))
		w.(http.Flusher).Flush()
	}
}

// download sends ?length= octets, with Content-Length or in chunks.
func download(w http.ResponseWriter, r *http.Request) {
	left := number(r, "length")
	if r.URL.Query().Get("chunked") == "" {
		w.Header().Set("Content-Length", strconv.Itoa(left))
	}
	for piece := make([]byte, 1<<20); left > 0; left -= len(piece) {
		if left < len(piece) {
			piece = piece[:left]
		}
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

func upload(w http.ResponseWriter, r *http.Request) {
	count, err := io.Copy(io.Discard, r.Body)
	fmt.Fprint(w, count, err == nil, r.ContentLength, r.TransferEncoding)
}

// refuse answers before it has read the content.
func refuse(w http.ResponseWriter, r *http.Request) {
	http.Error(w, "too large", http.StatusRequestEntityTooLarge)
}

func cut(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "100")
	w.Write([]byte("half"))
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func count(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, connections.Load())
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", echoBack)
	mux.HandleFunc("/redirect", redirect)
	mux.HandleFunc("/trailers", trailers)
	mux.HandleFunc("/slow", slow)
	mux.HandleFunc("/download", download)
	mux.HandleFunc("/upload", upload)
	mux.HandleFunc("/refuse", refuse)
	mux.HandleFunc("/cut", cut)
	mux.HandleFunc("/count", count)
	mux.HandleFunc("/close", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		count(w, r)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := http.Server{
		Handler: mux,
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		},
	}
	if len(os.Args) == 2 {
		speakH2c(&server)
	}
	fmt.Println("listening on", listener.Addr())
	if len(os.Args) == 3 {
		panic(server.ServeTLS(listener, os.Args[1], os.Args[2]))
	}
	panic(server.Serve(listener))
}
