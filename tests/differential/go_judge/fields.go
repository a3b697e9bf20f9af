package main

import (
	"fmt"
	"net/http"
	"strings"
)

func yes(is bool) string {
	if is {
		return "y"
	}
	return "n"
}

var sameSites = map[http.SameSite]string{
	http.SameSiteStrictMode: "Strict", http.SameSiteLaxMode: "Lax", http.SameSiteNoneMode: "None",
}

func setCookie(input []byte) string {
	c, err := http.ParseSetCookie(string(input))
	if err != nil {
		return "E refuse:" + because(err)
	}
	age, expires := "-", "-"
	if c.MaxAge > 0 {
		age = fmt.Sprint(c.MaxAge)
	} else if c.MaxAge < 0 {
		age = "0"
	}
	if !c.Expires.IsZero() {
		expires = fmt.Sprint(c.Expires.Unix())
	}
	return fmt.Sprintf("M %s %s %s %s %s %s %s %s %s %s E end", quoted(c.Name),
		quoted(c.Value), quoted(c.Path), quoted(c.Domain), age, expires, yes(c.Secure),
		yes(c.HttpOnly), quoted(sameSites[c.SameSite]), yes(c.Partitioned))
}

// cookie reads as Request.Cookies does: what is no cookie is left out.
func cookie(input []byte) string {
	req := http.Request{Header: http.Header{"Cookie": {string(input)}}}
	var pairs []string
	for _, c := range req.Cookies() {
		pairs = append(pairs, quoted(c.Name)+":"+quoted(c.Value))
	}
	if len(pairs) == 0 {
		return "M - E end"
	}
	return "M " + strings.Join(pairs, "|") + " E end"
}

func date(input []byte) string {
	at, err := http.ParseTime(string(input))
	if err != nil {
		return "E refuse:parsing"
	}
	return fmt.Sprintf("M %d E end", at.Unix())
}
