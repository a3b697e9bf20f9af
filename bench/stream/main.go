// Reads a response piece by piece, and counts. PORT.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	response, err := http.Get("http://127.0.0.1:" + os.Args[1] + "/")
	if err != nil {
		panic(err)
	}
	room := make([]byte, 65_536)
	total := 0
	for {
		count, err := response.Body.Read(room)
		total += count
		if err == io.EOF {
			break
		}
		if err != nil {
			panic(err)
		}
	}
	fmt.Println(total)
}
