// Command clinic is the front desk of a clinic: a page for visitors, who need no account, and
// the back-end behind it. It keeps the key of the app: a page gets a token that is good for one
// session alone. What the desk answers is in desk.go.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/nats-io/nats.go"
)

//go:embed index.html page.js page.css
var pages embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server := cmp.Or(os.Getenv("EARSHOT_URL"), "http://127.0.0.1:8080")
	e := earshot{app: server + "/v1/apps/clinic", key: os.Getenv("EARSHOT_KEY")}
	v := visits{earshot: e, life: cmp.Or(os.Getenv("TOKEN_LIFE"), "1h")}
	go func() { log.Fatal(v.serve(cmp.Or(os.Getenv("ADDR"), "127.0.0.1:8090"))) }()
	if err := (desk{earshot: e}).run(ctx, cmp.Or(os.Getenv("NATS_URL"), nats.DefaultURL)); err != nil {
		log.Fatal(err)
	}
}

// visits begins the sessions of visitors. life is how long a token is good.
type visits struct {
	earshot
	life string
}

func (v visits) serve(addr string) error {
	routes := http.NewServeMux()
	routes.Handle("GET /", http.FileServerFS(pages))
	routes.HandleFunc("POST /session", v.begin)
	guarded := http.NewCrossOriginProtection().Handler(routes) // no other site begins sessions in a visitor's name
	return (&http.Server{Addr: addr, Handler: guarded, ReadHeaderTimeout: 5 * time.Second}).ListenAndServe()
}

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

// begin gives a page its session and a token for it. A page that is loaded again, or whose
// token ends, asks again: what is put twice is the same as once, and what was said stays.
func (v visits) begin(w http.ResponseWriter, r *http.Request) {
	session := "/sessions/" + visit(w, r)
	language := spoken(r.Header.Get("Accept-Language"))
	var made struct {
		Token string `json:"token"`
	}
	err := v.call(r.Context(), http.MethodPut, session, map[string]any{
		"language": language, "expiresIn": "24h",
		"metadata":     map[string]string{"language": language}, // comes back with each event
		"repositories": []string{"booking"},
	}, nil)
	if err == nil {
		err = v.call(r.Context(), http.MethodPost, session+"/token", map[string]string{"expiresIn": v.life}, &made)
	}
	if err != nil {
		log.Print(err)
		http.Error(w, "the desk is not available now", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]string{ // fails only where nobody is there to read it
		"session": v.app + session, "token": made.Token,
	})
}
