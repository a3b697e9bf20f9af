// gorilla/websocket: echoes what it hears, or with `room` sends it to all.
// Usage: server PORT [room]
package main

import (
	"log"
	"net/http"
	"os"
	"sync"

	"github.com/gorilla/websocket"
)

const waitingMax = 1024

var upgrader = websocket.Upgrader{}

type hub struct {
	lock    sync.Mutex
	members map[chan *websocket.PreparedMessage]bool
}

func (h *hub) add(member chan *websocket.PreparedMessage, isIn bool) {
	h.lock.Lock()
	defer h.lock.Unlock()
	if isIn {
		h.members[member] = true
	} else if h.members[member] {
		delete(h.members, member)
		close(member)
	}
}

func (h *hub) send(message *websocket.PreparedMessage) {
	h.lock.Lock()
	defer h.lock.Unlock()
	for member := range h.members {
		select {
		case member <- message:
		default:
		}
	}
}

func echo(writer http.ResponseWriter, request *http.Request) {
	ws, err := upgrader.Upgrade(writer, request, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	for {
		kind, message, err := ws.ReadMessage()
		if err != nil || ws.WriteMessage(kind, message) != nil {
			return
		}
	}
}

func (h *hub) attend(writer http.ResponseWriter, request *http.Request) {
	ws, err := upgrader.Upgrade(writer, request, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	member := make(chan *websocket.PreparedMessage, waitingMax)
	h.add(member, true)
	defer h.add(member, false)
	go func() {
		for message := range member {
			if ws.WritePreparedMessage(message) != nil {
				return
			}
		}
	}()
	for {
		kind, octets, err := ws.ReadMessage()
		if err != nil {
			return
		}
		message, err := websocket.NewPreparedMessage(kind, octets)
		if err != nil {
			return
		}
		h.send(message)
	}
}

func main() {
	handler := http.HandlerFunc(echo)
	if len(os.Args) > 2 {
		room := &hub{members: map[chan *websocket.PreparedMessage]bool{}}
		handler = room.attend
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], handler))
}
