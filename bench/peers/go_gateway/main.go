// Go's ReverseProxy as the gateway of the benchmarks.
// Usage: server PORT UPSTREAM_PORT [CERTIFICATE KEY]; GOMAXPROCS is the number of threads that run
// Go code, BENCH_HOST the address, by default loopback.
package main

import (
	"crypto/tls"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
)

// buffers lends the buffers that content is copied through.
type buffers struct{ pool sync.Pool }

func (all *buffers) Get() []byte       { return all.pool.Get().([]byte) }
func (all *buffers) Put(buffer []byte) { all.pool.Put(buffer) }

func main() {
	if len(os.Args) != 3 && len(os.Args) != 5 {
		log.Fatal("usage: server PORT UPSTREAM_PORT [CERTIFICATE KEY]")
	}
	host := os.Getenv("BENCH_HOST")
	if host == "" {
		host = "127.0.0.1"
	}
	upstream, err := url.Parse("http://127.0.0.1:" + os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns = 1024
	transport.MaxIdleConnsPerHost = 1024
	transport.DisableCompression = true
	pool := &buffers{sync.Pool{New: func() any { return make([]byte, 32<<10) }}}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(upstream)
			request.Out.Host = request.In.Host
			request.SetXForwarded()
		},
		Transport:  transport,
		BufferPool: pool,
	}
	server := &http.Server{Addr: host + ":" + os.Args[1], Handler: proxy}
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	if len(os.Args) == 3 {
		log.Fatal(server.ListenAndServe())
	}
	// No tickets, so that every handshake is a full one.
	server.TLSConfig = &tls.Config{SessionTicketsDisabled: true}
	log.Fatal(server.ListenAndServeTLS(os.Args[3], os.Args[4]))
}
