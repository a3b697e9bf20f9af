package main

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"strings"
)

// form reads a body whose boundary is b.
func form(input []byte) string {
	reader := multipart.NewReader(bytes.NewReader(input), "b")
	var answer strings.Builder
	for {
		part, err := reader.NextPart()
		if err == io.EOF {
			return answer.String() + "E end"
		}
		if err != nil {
			return answer.String() + formEnding(err)
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return answer.String() + formEnding(err)
		}
		fmt.Fprintf(&answer, "M %s %s %s ", quoted(part.FormName()),
			quoted(part.FileName()), quoted(string(content)))
	}
}

func formEnding(err error) string {
	text := err.Error()
	if strings.HasSuffix(text, "EOF") {
		return "E partial"
	}
	return "E refuse:" + because(err)
}
