// Asks an HTTPS server with Go's own client. Usage: https_client URL CA PROTOCOL
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
)

func main() {
	pem, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, NextProtos: os.Args[3:]},
		ForceAttemptHTTP2: os.Args[3] == "h2",
		MaxConnsPerHost:   4,
	}}
	body := bytes.Repeat([]byte("0123456789"), 20_000)
	var group sync.WaitGroup
	for worker := 0; worker < 20; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 10; i++ {
				answer, err := client.Post(os.Args[1]+"/upload", "text/plain", bytes.NewReader(body))
				if err != nil {
					log.Fatal(err)
				}
				got, err := io.ReadAll(answer.Body)
				answer.Body.Close()
				if err != nil || !bytes.Equal(got, body) {
					log.Fatal("wrong body: ", len(got), " octets, ", err)
				}
				if answer.TLS.Version != tls.VersionTLS13 {
					log.Fatal("version ", answer.TLS.Version)
				}
			}
		}()
	}
	group.Wait()
	answer, err := client.Get(os.Args[1] + "/tls")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("200 requests, TLS 1.3,", answer.TLS.NegotiatedProtocol)
}
