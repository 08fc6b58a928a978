// Command helpdesk is the desk of those who answer the customers of several companies. Each company is an app of its
// own, and the key that the desk is run with says which: it sees nothing of any other.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

const usage = `helpdesk tenant NAME          sets a company up, and prints the key of its desk (with the admin's key)
helpdesk sessions             lists its conversations
helpdesk read SESSION         prints what was said in one, the newest first
helpdesk follow               prints what is said in all of them, from now on
helpdesk answer SESSION TEXT  says something
helpdesk tickets SESSION      lists the tickets that were opened in one
helpdesk export SESSION       prints all that is kept of one
helpdesk forget SESSION       erases it`

// A company is set up with one tool. chatEvents lets its desk follow what is said.
const (
	settings = `{"name": %q, "settings": {"chatEvents": true}}`
	tools    = `{"tools": [{"name": "open-ticket", "description": "Something does not work",
	  "schema": [{"parameter": "device", "type": "string", "required": true, "ask": "What does not work: printer, phone or screen?",
	              "allowedValues": ["printer", "phone", "screen"], "aliases": {"screen": ["monitor", "display"]}}],
	  "examples": ["my printer does not work", "the phone is broken"]}]}`
	deskKey = `{"name": "desk", "scopes": ["messages", "triggers"]}`
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	d := &desk{server: cmp.Or(os.Getenv("EARSHOT_URL"), "http://127.0.0.1:8080"), key: os.Getenv("EARSHOT_KEY"), out: os.Stdout}
	if err := d.run(ctx, os.Args[1:]); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// desk is that of one company.
type desk struct {
	server, key string
	app         string // the path of its app
	out         io.Writer
}

func (d *desk) run(ctx context.Context, args []string) error {
	command := strings.Join(args[:min(1, len(args))], "")
	commands := map[string]struct {
		arguments int
		run       func(context.Context, []string) error
	}{
		"tenant": {1, d.tenant}, "sessions": {0, d.sessions}, "read": {1, d.read}, "follow": {0, d.follow},
		"answer": {2, d.answer}, "tickets": {1, d.tickets}, "export": {1, d.export}, "forget": {1, d.forget},
	}
	found, known := commands[command]
	if !known || len(args) != 1+found.arguments {
		return errors.New(usage)
	}
	var me struct {
		AppID string `json:"appId"`
	}
	if err := d.call(ctx, http.MethodGet, "/v1/whoami", "", &me); err != nil {
		return err
	}
	if me.AppID == "" && command != "tenant" {
		return errors.New("EARSHOT_KEY is not the key of a company: helpdesk tenant makes one")
	}
	d.app = "/v1/apps/" + me.AppID
	return found.run(ctx, args[1:])
}

// tenant creates an app, which must not be there, its tools, and a key that is good for it alone.
func (d *desk) tenant(ctx context.Context, args []string) error {
	app := "/v1/apps/" + args[0]
	var made struct {
		Key string `json:"key"`
	}
	err := d.call(ctx, http.MethodPut, app, fmt.Sprintf(settings, args[0]), nil, "If-None-Match", "*")
	if err == nil {
		err = d.call(ctx, http.MethodPut, app+"/repositories/tickets", tools, nil)
	}
	if err == nil {
		err = d.call(ctx, http.MethodPost, app+"/keys", deskKey, &made)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(d.out, made.Key)
	return err
}

// entry is what we need of an item of any of the lists, and of the event of a message.
type entry struct {
	SessionID   string         `json:"sessionId"`
	LastMessage time.Time      `json:"lastMessage"`
	Actor       string         `json:"actor"`
	Text        string         `json:"text"`
	TS          time.Time      `json:"ts"`
	State       string         `json:"state"`
	Values      map[string]any `json:"values"`
}

func (d *desk) sessions(ctx context.Context, _ []string) error {
	return d.list(ctx, "/sessions?limit=200", func(one entry) {
		fmt.Fprintf(d.out, "%s, last message at %s\n", one.SessionID, one.LastMessage.Format(time.TimeOnly))
	})
}

func (d *desk) read(ctx context.Context, args []string) error {
	return d.list(ctx, "/sessions/"+args[0]+"/messages?order=desc", func(said entry) {
		fmt.Fprintf(d.out, "%s: %s\n", said.Actor, said.Text)
	})
}

func (d *desk) tickets(ctx context.Context, args []string) error {
	return d.list(ctx, "/triggers?name=open-ticket&session="+url.QueryEscape(args[0]), func(fired entry) {
		fmt.Fprintf(d.out, "%s: %s\n", fired.Values["device"], fired.State)
	})
}

// list goes through all pages of a list.
func (d *desk) list(ctx context.Context, path string, show func(entry)) error {
	for after := ""; ; {
		var page struct {
			Items []entry `json:"items"`
			Next  string  `json:"next"`
		}
		if err := d.call(ctx, http.MethodGet, d.app+path+"&after="+url.QueryEscape(after), "", &page); err != nil {
			return err
		}
		for _, one := range page.Items {
			show(one)
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

// answer says something. Who sends it again after a fault does it with the same id.
func (d *desk) answer(ctx context.Context, args []string) error {
	body, err := json.Marshal(map[string]string{"messageId": rand.Text(), "actor": "agent", "text": args[1]})
	if err != nil {
		return err
	}
	return d.call(ctx, http.MethodPost, d.app+"/sessions/"+args[0]+"/messages", string(body), nil)
}

// export prints a line of JSON for each message, trigger and event.
func (d *desk) export(ctx context.Context, args []string) error {
	response, err := d.send(ctx, http.MethodGet, d.app+"/sessions/"+args[0]+"/export", "")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(d.out, response.Body)
	return err
}

// forget returns when nothing that was said or done in the session is left.
func (d *desk) forget(ctx context.Context, args []string) error {
	return d.call(ctx, http.MethodDelete, d.app+"/sessions/"+args[0]+"?erase=true", "", nil)
}

// follow prints what is said, and goes on behind the last event where the stream breaks off.
func (d *desk) follow(ctx context.Context, _ []string) error {
	for last := ""; ; {
		err := d.hear(ctx, &last)
		if ctx.Err() != nil {
			return nil
		}
		log.Printf("connecting again: %v", err)
		time.Sleep(2 * time.Second)
	}
}

// hear reads a stream of server-sent events: lines of id, event and data, and an empty one.
func (d *desk) hear(ctx context.Context, last *string) error {
	response, err := d.send(ctx, http.MethodGet, d.app+"/events", "", "Last-Event-ID", *last)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines, kind := bufio.NewReader(response.Body), ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		field, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		switch {
		case field == "id":
			*last = value
		case field == "event":
			kind = value
		case field == "data" && kind == "chat.message":
			var said entry
			if err := json.Unmarshal([]byte(value), &said); err != nil {
				return err
			}
			fmt.Fprintf(d.out, "%s %s: %s\n", said.SessionID, said.Actor, said.Text)
		case field == "retry":
			fmt.Fprintln(d.out, "following")
		}
	}
}

// call makes a request, and reads its answer into what is given.
func (d *desk) call(ctx context.Context, method, path, body string, into any, headers ...string) error {
	response, err := d.send(ctx, method, path, body, headers...)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if into == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// send makes a request that must succeed. Headers are names and values in turn.
func (d *desk) send(ctx context.Context, method, path, body string, headers ...string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, d.server+path, bytes.NewBufferString(body))
	if err != nil {
		return nil, err
	}
	for pair := range slices.Chunk(append(headers, "Authorization", "Bearer "+d.key, "Content-Type", "application/json"), 2) {
		if pair[1] != "" {
			request.Header.Set(pair[0], pair[1])
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode < http.StatusMultipleChoices {
		return response, err
	}
	defer response.Body.Close()
	problem, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return nil, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, problem)
}
