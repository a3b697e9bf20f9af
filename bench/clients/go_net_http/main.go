// A client of net/http: URL, how many requests at once, length of the content.
// For each line on standard input it asks for so many seconds and prints what
// came of it.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

type figures struct{ requests, octets, failures int }

func run(client *http.Client, url string, content []byte, end time.Time) (f figures) {
	for time.Now().Before(end) {
		var response *http.Response
		var err error
		if len(content) > 0 {
			response, err = client.Post(url, "application/octet-stream", bytes.NewReader(content))
		} else {
			response, err = client.Get(url)
		}
		if err != nil {
			f.failures++
			continue
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != 200 {
			f.failures++
			continue
		}
		f.requests++
		f.octets += len(body)
	}
	return f
}

func main() {
	url := os.Args[1]
	parallel, _ := strconv.Atoi(os.Args[2])
	length, _ := strconv.Atoi(os.Args[3])
	content := bytes.Repeat([]byte("u"), length)
	client := &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: parallel, DisableCompression: true,
	}}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		seconds, _ := strconv.Atoi(lines.Text())
		began := time.Now()
		end := began.Add(time.Duration(seconds) * time.Second)
		var total figures
		var lock sync.Mutex
		var group sync.WaitGroup
		for range parallel {
			group.Add(1)
			go func() {
				defer group.Done()
				f := run(client, url, content, end)
				lock.Lock()
				total.requests += f.requests
				total.octets += f.octets
				total.failures += f.failures
				lock.Unlock()
			}()
		}
		group.Wait()
		fmt.Printf(`{"requests": %d, "bytes": %d, "failures": %d, "duration_us": %d}`+"\n",
			total.requests, total.octets, total.failures, time.Since(began).Microseconds())
	}
}
