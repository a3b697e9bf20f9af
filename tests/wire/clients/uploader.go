// Uploads to an HTTPS server over HTTP/2 with Go's own client, and prints how many
// of the uploads failed, and the first reason.
// Usage: uploader URL CA COUNT
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
	"strconv"
	"sync"
)

func upload(client *http.Client, url string, body []byte) error {
	answer, err := client.Post(url, "text/plain", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err == nil && string(got) != strconv.Itoa(len(body)) {
		err = fmt.Errorf("status %d, %q", answer.StatusCode, got)
	}
	return err
}

func main() {
	pem, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		ForceAttemptHTTP2: true,
	}}
	count, _ := strconv.Atoi(os.Args[3])
	numbers := make(chan int)
	var lock sync.Mutex
	var group sync.WaitGroup
	failed, reason := 0, "none"
	for worker := 0; worker < 20; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for number := range numbers {
				// Longer than a window, and each cut at another place.
				body := make([]byte, 70_000+(number*7919)%300_000)
				if err := upload(client, os.Args[1]+"/large", body); err != nil {
					lock.Lock()
					failed, reason = failed+1, err.Error()
					lock.Unlock()
				}
			}
		}()
	}
	for number := 0; number < count; number++ {
		numbers <- number
	}
	close(numbers)
	group.Wait()
	fmt.Printf("%d of %d failed: %s\n", failed, count, reason)
}
