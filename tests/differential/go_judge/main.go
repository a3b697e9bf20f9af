// Answers generated inputs as Go's standard library reads them:
// `judge SUBJECT` reads cases on standard input, each behind its length (four
// octets, big-endian), and prints a line for each.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

var subjects = map[string]func([]byte) string{
	"request":         requests,
	"response":        response,
	"response-strict": response,
	"json":            jsonText,
	"set-cookie":      setCookie,
	"cookie":          cookie,
	"date":            date,
	"multipart":       form,
}

func main() {
	answer, known := subjects[os.Args[1]]
	if !known {
		fmt.Fprintln(os.Stderr, "unknown subject:", os.Args[1])
		os.Exit(2)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer out.Flush()
	var length [4]byte
	for {
		if _, err := io.ReadFull(in, length[:]); err != nil {
			return
		}
		input := make([]byte, binary.BigEndian.Uint32(length[:]))
		if _, err := io.ReadFull(in, input); err != nil {
			fmt.Fprintln(os.Stderr, "a case is cut short")
			os.Exit(2)
		}
		fmt.Fprintln(out, answer(input))
	}
}
