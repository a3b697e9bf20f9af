package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// jsonText writes values as answer_json.mojo does, by the tokens of a text that
// encoding/json takes.
func jsonText(input []byte) string {
	var whole any
	if err := json.Unmarshal(input, &whole); err != nil {
		return "E refuse:" + because(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.UseNumber()
	var out strings.Builder
	if err := writeValue(decoder, &out); err != nil {
		return "E refuse:" + because(err)
	}
	return "M " + out.String() + " E end"
}

func writeValue(decoder *json.Decoder, out *strings.Builder) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	switch value := token.(type) {
	case nil:
		out.WriteString("n")
	case bool:
		out.WriteString(map[bool]string{true: "t", false: "f"}[value])
	case string:
		out.WriteString(`"` + quoted(value) + `"`)
	case json.Number:
		return writeNumber(value.String(), out)
	case json.Delim:
		out.WriteRune(rune(value))
		for decoder.More() {
			if value == '{' {
				name, err := decoder.Token()
				if err != nil {
					return err
				}
				out.WriteString(`"` + quoted(name.(string)) + `":`)
			}
			if err := writeValue(decoder, out); err != nil {
				return err
			}
			out.WriteString(",")
		}
		end, err := decoder.Token()
		if err != nil {
			return err
		}
		out.WriteRune(rune(end.(json.Delim)))
	}
	return nil
}

func writeNumber(text string, out *strings.Builder) error {
	if !strings.ContainsAny(text, ".eE") {
		if number, err := strconv.ParseInt(text, 10, 64); err == nil {
			fmt.Fprintf(out, "i%d", number)
			return nil
		}
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "d%d", math.Float64bits(number))
	return nil
}
