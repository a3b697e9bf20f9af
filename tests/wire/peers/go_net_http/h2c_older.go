//go:build !go1.24

package main

import (
	"fmt"
	"net/http"
	"os"
)

func speakH2c(_ *http.Server) {
	fmt.Println("HTTP/2 without TLS needs Go 1.24")
	os.Exit(0)
}
