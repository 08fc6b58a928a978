// Command helpdesk is the desk of those who answer the customers of several companies. Each company is an app of its
// own, and the key that the desk is run with says which: it sees nothing of any other.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	earshot "earshot/deploy/clients/go"
)

const usage = `helpdesk company NAME URL SECRET  sets a company up, whose events go to the URL, and prints the key of its desk (with the admin's key)
helpdesk hear ADDRESS SECRET      receives the events there, and prints them
helpdesk resend SINCE             has them sent again from a moment on, as 2026-12-01T09:00:00Z
helpdesk customer NAME            prints what was said with a customer, in all conversations
helpdesk answer SESSION TEXT      says something
helpdesk tickets                  lists the tickets that were opened
helpdesk usage                    prints what the company has used, day by day
helpdesk export NAME              prints all that is kept of a customer
helpdesk forget NAME              erases it`

// sentTypes are the events that a desk lives on.
var sentTypes = []string{"chat.message", "tool.trigger", "tool.result"}

var openTicket = earshot.Tool{
	Name: "open-ticket", Description: "Something does not work",
	Schema: []earshot.Parameter{{
		Parameter: "device", Type: "string", Required: earshot.Ptr(true), Ask: "What does not work: printer, phone or screen?",
		AllowedValues: []any{"printer", "phone", "screen"}, Aliases: map[string][]string{"screen": {"monitor", "display"}},
	}},
	Examples: []string{"my printer does not work", "the phone is broken"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	commands := map[string]struct {
		arguments int
		run       func(d *desk, ctx context.Context, args []string) error
	}{
		"company": {3, (*desk).company}, "hear": {2, (*desk).hear}, "resend": {1, (*desk).resend}, "customer": {1, (*desk).customer}, "answer": {2, (*desk).answer},
		"tickets": {0, (*desk).tickets}, "usage": {0, (*desk).usage}, "export": {1, (*desk).export}, "forget": {1, (*desk).forget},
	}
	if len(args) == 0 || commands[args[0]].run == nil || len(args) != 1+commands[args[0]].arguments {
		return errors.New(usage)
	}
	client, err := earshot.FromEnvironment()
	if err != nil {
		return err
	}
	d := &desk{client: client, out: os.Stdout}
	if args[0] != "company" && args[0] != "hear" {
		me, err := client.WhoAmI(ctx)
		if err != nil {
			return err
		}
		if me.AppID == "" {
			return errors.New("EARSHOT_KEY is not the key of a company: helpdesk company makes one")
		}
		d.app = client.App(me.AppID)
	}
	return commands[args[0]].run(d, ctx, args[1:])
}

// desk is that of one company.
type desk struct {
	client *earshot.Client
	app    *earshot.App
	out    io.Writer
}

// company creates an app, its tool, and a key that is good for it alone.
func (d *desk) company(ctx context.Context, args []string) error {
	app := d.client.App(args[0])
	hook := earshot.Webhook{Name: "desk", URL: args[1], Secret: args[2], Types: sentTypes}
	if _, err := app.Put(ctx, earshot.AppDefinition{Settings: &earshot.Settings{ChatEvents: true, Webhooks: []earshot.Webhook{hook}}}); err != nil {
		return err
	}
	if _, err := app.PutTools(ctx, "tickets", openTicket); err != nil {
		return err
	}
	made, err := app.MakeKey(ctx, earshot.KeyRequest{Name: "desk", Scopes: []string{"app", "messages", "triggers:read"}})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(d.out, made.Key)
	return err
}

// hear prints each event once. An event that it has not answered with 200 comes again, also after it was away.
func (d *desk) hear(ctx context.Context, args []string) error {
	verifier, err := standardwebhooks.NewWebhook(args[1])
	if err != nil {
		return fmt.Errorf("the secret is none: %w", err)
	}
	var mu sync.Mutex
	seen := map[string]bool{} // kept in memory; where that matters, keep it with what an event leads to
	listener, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 2<<20))
		if err == nil {
			err = verifier.Verify(body, r.Header)
		}
		var event struct {
			Type string          `json:"type"`
			Data earshot.Payload `json:"data"`
		}
		if err == nil {
			err = json.Unmarshal(body, &event)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if id := r.Header.Get("webhook-id"); !seen[id] {
			seen[id] = true
			show(d.out, event.Type, event.Data)
		}
	})}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	log.Printf("hearing at %s", listener.Addr())
	return server.Serve(listener)
}

func show(out io.Writer, kind string, event earshot.Payload) {
	switch kind {
	case "chat.message":
		fmt.Fprintf(out, "%s %s: %s\n", event.SessionID, event.Actor, event.Text)
	case "tool.trigger":
		fmt.Fprintf(out, "%s ticket for a %s\n", event.SessionID, event.Values["device"])
	default:
		fmt.Fprintf(out, "%s %s of %s\n", event.SessionID, kind, event.Name)
	}
}

func (d *desk) resend(ctx context.Context, args []string) error {
	return d.app.Call(ctx, http.MethodPost, "/v1/apps/{appId}/webhooks/{webhookName}/resend", map[string]string{"webhookName": "desk"}, map[string]string{"since": args[0]}, nil)
}

func (d *desk) customer(ctx context.Context, args []string) error {
	for session, err := range d.app.Sessions(ctx, earshot.SessionsQuery{User: args[0]}) {
		if err != nil {
			return err
		}
		for said, err := range d.app.Session(session.SessionID).Messages(ctx, time.Time{}) {
			if err != nil {
				return err
			}
			fmt.Fprintf(d.out, "%s %s: %s\n", session.SessionID, said.Actor, said.Text)
		}
	}
	return nil
}

func (d *desk) answer(ctx context.Context, args []string) error {
	_, err := d.app.Session(args[0]).Post(ctx, earshot.Message{Actor: "agent", Text: args[1]})
	return err
}

func (d *desk) tickets(ctx context.Context, _ []string) error {
	for fired, err := range d.app.Triggers(ctx, earshot.Search{Name: openTicket.Name}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(d.out, "%s %s: %s\n", fired.SessionID, fired.Values["device"], fired.State)
	}
	return nil
}

func (d *desk) usage(ctx context.Context, _ []string) error {
	var used struct {
		Items []struct {
			Day                string
			Messages, Triggers int
		}
	}
	err := d.app.Call(ctx, http.MethodGet, "/v1/apps/{appId}/usage", nil, nil, &used)
	for _, day := range used.Items {
		fmt.Fprintf(d.out, "%s: %d messages, %d tickets\n", day.Day, day.Messages, day.Triggers)
	}
	return err
}

func (d *desk) export(ctx context.Context, args []string) error {
	return d.app.ExportUser(ctx, args[0], d.out)
}

// forget returns when nothing of the customer is left in any conversation.
func (d *desk) forget(ctx context.Context, args []string) error {
	_, err := d.app.EraseUser(ctx, args[0])
	return err
}
