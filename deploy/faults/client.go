package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"earshot/deploy/testbed"
)

var apps = []string{"clinic", followed}

// followed is the app whose messages and replies are events.
const followed = "museum"

// hookPath is that of the webhook of the followed app, and hooked the kinds of events that it takes.
const hookPath = "/hook"

var hooked = []string{"tool.result", "chat.message"}

type operation struct {
	App, Session string
	ID           string // messageId or triggerId; of a chat as it was answered; empty for a registration
	Kind         string
	Expects      string // tool that the message calls for; empty for none, or not known
	Path, Body   string
	// Trigger is what a cancel, confirm, deny or answer is about, Consent the yes or no that a message says. Alone:
	// no other client acts on the trigger. Broken: an attempt failed, so an earlier one may have been carried out.
	Trigger, Consent string
	Alone, Broken    bool
	Given            map[string]string
	Ordered          bool // the client waited for the answer, and no other client uses the session
	Status           int
	Answer           string // of the last attempt
	At               time.Time
	sound            func(answer string) error // why an answer of 2xx is not final; nil if each is
	Recovery         time.Duration             // the time from a lost connection to the answer; it means nothing if Disturbed by other faults
	Disturbed        bool
}

type books struct {
	system *system
	calm   func() bool // false while so much fails that times mean nothing

	mu      sync.Mutex
	issued  int
	done    []*operation
	lost    []*operation   // never answered
	failed  []record       // triggers that had failed when all was quiet
	retried map[string]int // how often each was retried then
}

type client struct {
	*books
	ctx          context.Context
	app, session string
	dice         *rand.Rand
}

// atOnce has copies of the client, each with dice of its own, act at the same time.
func (c *client) atOnce(do ...func(*client)) {
	var group sync.WaitGroup
	for _, one := range do {
		fork := &client{c.books, c.ctx, c.app, c.session, rand.New(rand.NewPCG(c.dice.Uint64(), 0))}
		group.Go(func() { one(fork) })
	}
	group.Wait()
}

// stubborn is how long an operation is tried; far above every lease.
const stubborn = 2 * time.Minute

// do asks one replica after the other, under one id, until an answer is final.
func (c *client) do(method string, o *operation, header ...string) *operation {
	ctx, cancel := context.WithTimeout(c.ctx, stubborn)
	defer cancel()
	var broken time.Time
	for ctx.Err() == nil {
		answer, err := c.send(ctx, c.dice.IntN(replicas), method, o.Path, o.Body, header...)
		o.Disturbed = o.Disturbed || !c.calm()
		if err == nil && answer.Status < 300 && o.sound != nil {
			err = o.sound(string(answer.Body))
		}
		if err == nil && answer.Status < 500 && answer.Status != http.StatusTooManyRequests {
			o.Status, o.Answer, o.At = answer.Status, string(answer.Body), time.Now()
			if o.Kind == "chat" {
				o.ID = answer.Header.Get("X-Earshot-Message-Id")
			}
			if !broken.IsZero() {
				o.Recovery = time.Since(broken)
			}
			return c.keep(&c.done, o)
		}
		if err != nil && o.ID != "" && !strings.Contains(err.Error(), "refused") {
			broken = time.Now()
		}
		o.Answer, o.Broken = fmt.Sprint(answer.Status, string(answer.Body), err), true
		testbed.Wait(ctx, 30*time.Millisecond)
	}
	return c.keep(&c.lost, o)
}

func (b *books) keep(list *[]*operation, o *operation) *operation {
	b.mu.Lock()
	defer b.mu.Unlock()
	*list = append(*list, o)
	return o
}

// attemptLimit is a little more than a lease: after that another replica has the answer of a dead one.
const attemptLimit = 25 * time.Second

var connections = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

func (b *books) send(ctx context.Context, slot int, method, path, body string, header ...string) (testbed.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	service := testbed.Client{URL: b.system.replicas[slot].URL, Key: b.system.secrets.admin, HTTP: connections}
	answer, err := service.Ask(ctx, method, path, body, header...)
	b.system.secrets.look("an answer of the API", string(answer.Body))
	return answer, err
}

func (b *books) id(kind string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.issued++
	return fmt.Sprintf("%s-%d", kind, b.issued)
}

func pathOf(app, session string) string {
	if session == "" {
		return "/v1/apps/" + app
	}
	return "/v1/apps/" + app + "/sessions/" + session
}

func (b *books) must(method, path, body string) testbed.Answer {
	answer, err := b.send(b.system.ctx, 0, method, path, body)
	if err != nil || answer.Status >= 300 {
		b.system.t.Fatalf("%s %s: %d %s %v", method, path, answer.Status, answer.Body, err)
	}
	return answer
}

func readAll[T any](b *books, path string) (all []T) {
	for after := ""; ; {
		var page struct {
			Items []T
			Next  string
		}
		b.system.must(json.Unmarshal(b.must(http.MethodGet, path+"?limit=100&after="+after, "").Body, &page))
		all = append(all, page.Items...)
		if after = page.Next; after == "" {
			return all
		}
	}
}

const (
	askers     = 8
	insistence = 30 * time.Second // how long a 503 is retried: on a busy machine the masters of a cluster may take each other for dead
)

// askAgain sends every message and direct trigger that was answered once more, and returns the answers by their ids.
func (b *books) askAgain() map[string]string {
	again := map[string]string{}
	var group errgroup.Group
	group.SetLimit(askers)
	for i, o := range b.done {
		if o.Kind != "message" && o.Kind != "direct" && o.Kind != "chat" || o.Status >= 300 || closed(o) {
			continue
		}
		group.Go(func() error {
			answer, err := b.send(b.system.ctx, i%replicas, http.MethodPost, o.Path, o.Body)
			for deadline := time.Now().Add(insistence); answer.Status == http.StatusServiceUnavailable && time.Now().Before(deadline); {
				b.system.wait(500 * time.Millisecond)
				answer, err = b.send(b.system.ctx, i%replicas, http.MethodPost, o.Path, o.Body)
			}
			text := string(answer.Body)
			if err != nil || answer.Status >= 300 {
				text = fmt.Sprint(answer.Status, " ", text, err)
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			again[o.ID] = text
			return nil
		})
	}
	_ = group.Wait() // what fails stands among the answers
	return again
}

func closed(o *operation) bool { return strings.HasPrefix(o.Session, "visit") }
