package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// requests reads as net/http's server does: ReadRequest, and what
// server.go checks behind it.
func requests(input []byte) string {
	reader := bufio.NewReaderSize(bytes.NewReader(input), 4096)
	var answer strings.Builder
	for {
		hasHost := headHasHost(reader)
		req, err := http.ReadRequest(reader)
		if err == io.EOF {
			return answer.String() + "E end"
		}
		if err == nil {
			err = serverChecks(req, hasHost)
		}
		if err != nil {
			return answer.String() + ending(err)
		}
		content, err := io.ReadAll(req.Body)
		if err != nil {
			return answer.String() + ending(err)
		}
		kept := keeps(req)
		fmt.Fprintf(&answer, "M %s %s %d.%d %s %s %s %s ", quoted(req.Method),
			quoted(req.RequestURI), req.ProtoMajor, req.ProtoMinor, keepWord(kept),
			quotedFields(req.Header), quoted(string(content)), quotedFields(req.Trailer))
		if !kept {
			return answer.String() + "E end"
		}
	}
}

func keeps(req *http.Request) bool {
	if req.Close {
		return false
	}
	if req.ProtoAtLeast(1, 1) {
		return true
	}
	for _, value := range req.Header["Connection"] {
		if hasToken(value, "keep-alive") {
			return true
		}
	}
	return false
}

func hasToken(value, token string) bool {
	for _, part := range strings.Split(value, ",") {
		if strings.EqualFold(strings.Trim(part, " \t"), token) {
			return true
		}
	}
	return false
}

func keepWord(kept bool) string {
	if kept {
		return "keep"
	}
	return "close"
}

func ending(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return "E partial"
	}
	return "E refuse:" + because(err)
}

// serverChecks follows conn.readRequest of net/http/server.go, which sees the
// Host that ReadRequest takes out of the fields.
func serverChecks(req *http.Request, hasHost bool) error {
	if req.ProtoMajor != 1 {
		return errors.New("unsupported protocol version")
	}
	if req.ProtoAtLeast(1, 1) && !hasHost && req.Method != "CONNECT" {
		return errors.New("missing required Host header")
	}
	if req.URL.Host == "" && !validHost(req.Host) {
		return errors.New("malformed Host header")
	}
	for name, values := range req.Header {
		if !isToken(name) {
			return errors.New("invalid header name")
		}
		for _, value := range values {
			if !validValue(value) {
				return errors.New("invalid header value")
			}
		}
	}
	return nil
}

// headHasHost looks for a Host line in the head that the reader comes to.
func headHasHost(reader *bufio.Reader) bool {
	reader.Peek(1)
	head, _ := reader.Peek(reader.Buffered())
	for {
		line, rest, found := bytes.Cut(head, []byte("\n"))
		head = rest
		name, _, _ := bytes.Cut(head, []byte(":"))
		if strings.EqualFold(string(name), "host") {
			return true
		}
		if !found || len(bytes.TrimRight(line, "\r")) == 0 {
			return false
		}
	}
}

func validHost(host string) bool {
	for i := 0; i < len(host); i++ {
		c := host[i]
		if !isAlnum(c) && !strings.ContainsRune("!$%&'()*+,-.:;=@[]_~", rune(c)) || c >= 0x80 {
			return false
		}
	}
	return true
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isToken(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !isAlnum(c) && (c >= 0x80 || !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c))) {
			return false
		}
	}
	return name != ""
}

func validValue(value string) bool {
	for i := 0; i < len(value); i++ {
		if c := value[i]; c != '\t' && (c < 32 || c == 127) {
			return false
		}
	}
	return true
}

var methods = map[byte]string{'G': "GET", 'H': "HEAD", 'C': "CONNECT"}

// response reads as net/http's client does: interim responses one by one.
func response(input []byte) string {
	if len(input) < 2 {
		return "E end"
	}
	reader := bufio.NewReaderSize(bytes.NewReader(input[1:]), 4096)
	method, isKnown := methods[input[0]]
	if !isKnown {
		method = "GET"
	}
	req := &http.Request{Method: method}
	var answer strings.Builder
	for {
		resp, err := http.ReadResponse(reader, req)
		if err != nil {
			return answer.String() + ending(err)
		}
		if resp.StatusCode >= 100 && resp.StatusCode < 200 && resp.StatusCode != 101 {
			fmt.Fprintf(&answer, "I %d ", resp.StatusCode)
			continue
		}
		content, err, kept := []byte(nil), error(nil), keepWord(!resp.Close)
		isOther := resp.StatusCode == 101 ||
			req.Method == "CONNECT" && resp.StatusCode/100 == 2
		if isOther {
			kept = "~"
		} else {
			content, err = io.ReadAll(resp.Body)
		}
		if err != nil {
			return answer.String() + ending(err)
		}
		fmt.Fprintf(&answer, "M %d %d.%d %s %s %s %s ", resp.StatusCode,
			resp.ProtoMajor, resp.ProtoMinor, kept,
			quotedFields(resp.Header), quoted(string(content)), quotedFields(resp.Trailer))
		return answer.String() + "E end"
	}
}
