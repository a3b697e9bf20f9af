// A client of gorilla/websocket for the server's tests. Usage: gorilla URL
//
// It says "ok" once everything it sent has come back as it should.
package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const timeout = 20 * time.Second

func check(err error, doing string) {
	if err != nil {
		log.Fatalf("%s: %v", doing, err)
	}
}

func dial(url string, compresses bool) *websocket.Conn {
	dialer := websocket.Dialer{
		HandshakeTimeout:  timeout,
		EnableCompression: compresses,
		Subprotocols:      []string{"nobody-speaks-this", "chat"},
	}
	ws, response, err := dialer.Dial(url, http.Header{})
	check(err, "dial")
	if ws.Subprotocol() != "chat" {
		log.Fatalf("subprotocol %q", ws.Subprotocol())
	}
	agreed := response.Header.Get("Sec-WebSocket-Extensions")
	if strings.Contains(agreed, "permessage-deflate") != compresses {
		log.Fatalf("compression %v, agreed on %q", compresses, agreed)
	}
	ws.SetReadDeadline(time.Now().Add(timeout))
	ws.SetWriteDeadline(time.Now().Add(timeout))
	return ws
}

func expect(ws *websocket.Conn, kind int, content []byte) {
	gotKind, got, err := ws.ReadMessage()
	check(err, "read")
	if gotKind != kind || !bytes.Equal(got, content) {
		log.Fatalf("sent %d bytes of kind %d, got %d of %d", len(content), kind, len(got), gotKind)
	}
}

func echoes(ws *websocket.Conn) {
	noise := make([]byte, 2_000_000)
	_, err := rand.Read(noise)
	check(err, "random octets")
	for _, size := range []int{0, 1, 125, 126, 65_535, 65_536, 2_000_000} {
		check(ws.WriteMessage(websocket.BinaryMessage, noise[:size]), "write")
		expect(ws, websocket.BinaryMessage, noise[:size])
		text := []byte(strings.Repeat("ä", size/2))
		check(ws.WriteMessage(websocket.TextMessage, text), "write")
		expect(ws, websocket.TextMessage, text)
	}
}

func pings(ws *websocket.Conn) {
	heard := ""
	ws.SetPongHandler(func(payload string) error { heard = payload; return nil })
	check(ws.WriteControl(websocket.PingMessage, []byte("there?"), time.Now().Add(timeout)), "ping")
	check(ws.WriteMessage(websocket.TextMessage, []byte("behind it")), "write")
	expect(ws, websocket.TextMessage, []byte("behind it"))
	if heard != "there?" {
		log.Fatalf("pong %q", heard)
	}
}

func closes(ws *websocket.Conn) {
	check(ws.WriteMessage(websocket.TextMessage, []byte("close")), "write")
	_, _, err := ws.ReadMessage()
	if !websocket.IsCloseError(err, 4001) || err.(*websocket.CloseError).Text != "as you say" {
		log.Fatalf("close: %v", err)
	}
	ws.Close()
}

func main() {
	var clients sync.WaitGroup
	for number := 0; number < 8; number++ {
		clients.Add(1)
		go func(compresses bool) {
			defer clients.Done()
			ws := dial(os.Args[1], compresses)
			echoes(ws)
			pings(ws)
			closes(ws)
		}(number%2 == 0)
	}
	clients.Wait()
	fmt.Println("ok")
}
