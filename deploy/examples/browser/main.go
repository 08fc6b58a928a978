// Command browser serves a chat to browsers. The key of the app stays here: a browser gets a
// token that is good for one session alone.
package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
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
	b := backend{server: os.Getenv("EARSHOT_URL"), app: "clinic", key: os.Getenv("EARSHOT_KEY"), life: cmp.Or(os.Getenv("TOKEN_LIFE"), "1h")}
	routes := http.NewServeMux()
	routes.Handle("GET /", http.FileServerFS(pages))
	routes.HandleFunc("POST /session", b.begin)
	guarded := http.NewCrossOriginProtection().Handler(routes) // no other site begins sessions in a visitor's name
	server := &http.Server{Addr: os.Getenv("ADDR"), Handler: guarded, ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.ListenAndServe())
}

// backend knows the service, with a key of scope messages, and how long a token is good.
type backend struct{ server, app, key, life string }

// visit is the session of a visitor: that of their cookie, which nobody else can know, or a
// new one. Who signs visitors in takes the session from that.
func visit(w http.ResponseWriter, r *http.Request) string {
	cookie, err := r.Cookie("visit")
	if err != nil {
		cookie = &http.Cookie{Name: "visit", Value: rand.Text(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
		http.SetCookie(w, cookie) // behind HTTPS with Secure as well
	}
	return fmt.Sprintf("visit-%x", sha256.Sum256([]byte(cookie.Value)))
}

// begin gives a page its session and a token for it, and another token when that one ends.
func (b backend) begin(w http.ResponseWriter, r *http.Request) {
	session := visit(w, r)
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
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, at, bytes.NewBufferString(`{"expiresIn": "`+b.life+`"}`))
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
