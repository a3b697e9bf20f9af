package main

import (
	"net/http"
	"sort"
	"strings"
)

const digits = "0123456789ABCDEF"

// quoted writes octets as one word; `quoted.mojo` says how.
func quoted(text string) string {
	if text == "" {
		return "-"
	}
	if text == "-" {
		return "%2D"
	}
	var word strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c > 32 && c < 127 && c != '%' && c != '|' {
			word.WriteByte(c)
		} else {
			word.WriteByte('%')
			word.WriteByte(digits[c>>4])
			word.WriteByte(digits[c&15])
		}
	}
	return word.String()
}

var leftOut = map[string]bool{
	"host": true, "content-length": true, "transfer-encoding": true,
	"connection": true, "trailer": true,
}

func quotedFields(fields http.Header) string {
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		return quoted(strings.ToLower(names[i])) < quoted(strings.ToLower(names[j]))
	})
	var lines []string
	for _, name := range names {
		lower := strings.ToLower(name)
		if leftOut[lower] {
			continue
		}
		for _, value := range fields[name] {
			lines = append(lines, quoted(lower)+":"+quoted(value))
		}
	}
	if len(lines) == 0 {
		return "-"
	}
	return strings.Join(lines, "|")
}

// because makes a reason one word.
func because(err error) string {
	text := err.Error()
	if len(text) > 100 {
		text = text[:100]
	}
	return strings.ReplaceAll(quoted(text), "%20", "_")
}
