// Command browser serves a chat to browsers. The key of the app stays here: a browser gets a
// token that is good for one session alone.
package main

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

//go:embed index.html chat.js chat.css
var pages embed.FS

func main() {
	b := backend{server: os.Getenv("EARSHOT_URL"), app: "clinic", key: os.Getenv("EARSHOT_KEY")}
	routes := http.NewServeMux()
	routes.Handle("GET /", http.FileServerFS(pages))
	routes.HandleFunc("POST /session", b.begin)
	guarded := http.NewCrossOriginProtection().Handler(routes) // no other site begins sessions in a visitor's name
	server := &http.Server{Addr: os.Getenv("ADDR"), Handler: guarded, ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.ListenAndServe())
}

// backend knows the service, with a key of scope messages.
type backend struct{ server, app, key string }

// begin makes a session and the token for it. Who signs visitors in does it before this.
func (b backend) begin(w http.ResponseWriter, r *http.Request) {
	session := "visit-" + rand.Text()
	token, err := b.token(r, session)
	if err != nil {
		log.Print(err)
		http.Error(w, "the chat is not to be had now", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]string{ // fails only where nobody is there to read it
		"session": b.server + "/v1/apps/" + b.app + "/sessions/" + session, "token": token,
	})
}

func (b backend) token(r *http.Request, session string) (string, error) {
	at := b.server + "/v1/apps/" + b.app + "/sessions/" + session + "/token"
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, at, bytes.NewBufferString(`{"expiresIn": "1h"}`))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+b.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("no token: %s: %s", response.Status, text)
	}
	var made struct {
		Token string `json:"token"`
	}
	return made.Token, json.Unmarshal(text, &made)
}
