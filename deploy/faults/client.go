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

// apps are the tenants of a system. Everything that is done is done in one of them.
var apps = []string{"clinic", "museum"}

// operation is one thing that a client asked for, with its answer.
type operation struct {
	App, Session string
	ID           string // messageId or triggerId; of a chat as it was answered; empty for a registration
	Kind         string
	Expects      string // tool that the message calls for; empty for none, or not known
	Path, Body   string
	// Trigger is what a cancel, confirm, deny or answer is about, and Consent the plain yes or no that a
	// message is. Alone says that nobody else asks for anything about it, and Broken that an attempt came
	// to nothing, so that it may have been done by the time of the next.
	Trigger, Consent string
	Alone, Broken    bool
	// Given are the values that a call, or an answer to what it lacks, brings.
	Given map[string]string
	// Ordered says that its client waited for the answer before it went on, and that nobody else speaks
	// in the session.
	Ordered bool
	Status  int
	Answer  string // of the last attempt
	At      time.Time
	// sound says why an answer of 2xx is none yet; nil if each is one.
	sound func(answer string) error
	// Recovery is the time from a lost connection to the answer, if one was lost.
	Recovery time.Duration
	// Disturbed says that much else went wrong meanwhile, so that nobody outside can tell what Recovery
	// was the time of.
	Disturbed bool
}

// books are what all clients of a system have asked for.
type books struct {
	system *system
	// calm is false while so much goes wrong that no time can be taken.
	calm func() bool

	mu     sync.Mutex
	issued int
	done   []*operation
	lost   []*operation // never answered
	// failed are the triggers that had failed when all was quiet, and retried how often each was retried
	// by hand then.
	failed  []record
	retried map[string]int
}

// client has a session that is its own. What it asks for ends with ctx.
type client struct {
	*books
	ctx          context.Context
	app, session string
	dice         *rand.Rand
}

// fork is the same client with dice of its own, to ask at the same time.
func (c *client) fork() *client {
	return &client{c.books, c.ctx, c.app, c.session, rand.New(rand.NewPCG(c.dice.Uint64(), 0))}
}

// atOnce has forks do something at the same time.
func (c *client) atOnce(do ...func(*client)) {
	var group sync.WaitGroup
	for _, one := range do {
		fork := c.fork()
		group.Go(func() { one(fork) })
	}
	group.Wait()
}

// stubborn is how long an operation is tried. It is far above every lease.
const stubborn = 2 * time.Minute

// do asks until there is an answer that is final, of one replica after the other, under one id, as a
// careful client does.
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
		wait(ctx, 30*time.Millisecond)
	}
	return c.keep(&c.lost, o)
}

func (b *books) keep(list *[]*operation, o *operation) *operation {
	b.mu.Lock()
	defer b.mu.Unlock()
	*list = append(*list, o)
	return o
}

// attemptLimit is a little more than a lease, after which the answer of a dead replica is to be had from
// another.
const attemptLimit = 25 * time.Second

// connections are kept, as many to each replica as clients need.
var connections = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// send makes one attempt at a replica.
func (b *books) send(ctx context.Context, slot int, method, path, body string, header ...string) (testbed.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	service := testbed.Client{URL: b.system.replicas[slot].URL, Key: b.system.secrets.admin, HTTP: connections}
	answer, err := service.Ask(ctx, method, path, body, header...)
	b.system.secrets.look("an answer of the API", string(answer.Body))
	return answer, err
}

// id makes an id that was not used before.
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

// must makes a request that has to succeed at a replica that is well.
func (b *books) must(method, path, body string) testbed.Answer {
	answer, err := b.send(b.system.ctx, 0, method, path, body)
	if err != nil || answer.Status >= 300 {
		b.system.t.Fatalf("%s %s: %d %s %v", method, path, answer.Status, answer.Body, err)
	}
	return answer
}

// prepare registers the apps with their tools.
func (b *books) prepare() {
	for _, app := range apps {
		b.must(http.MethodPut, pathOf(app, ""), b.system.app(app))
		b.must(http.MethodPut, pathOf(app, "")+"/repositories/desk", b.system.desk())
		b.must(http.MethodPut, pathOf(app, "")+"/repositories/remote", `{"from":"remote"}`)
	}
}

// readAll reads a list to its end.
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

// retryFailed retries what has failed, as an operator does, and notes how it had failed. Not all was
// retried by its client: a call may fail after its message is answered. It returns how many that were.
func (b *books) retryFailed() (retried int) {
	for _, app := range apps {
		for _, one := range readAll[record](b, pathOf(app, "")+"/triggers") {
			if one.State != "failed" || one.Name == "mute" { // nobody answers that
				continue
			}
			b.failed = append(b.failed, one)
			b.retried[one.TriggerID]++
			b.must(http.MethodPost, pathOf(app, "")+"/triggers/"+one.TriggerID+"/retry", "")
			retried++
		}
	}
	return retried
}

// listed are the ids of all triggers that the service knows.
func (b *books) listed() map[string]bool {
	known := map[string]bool{}
	for _, app := range apps {
		for _, one := range readAll[record](b, pathOf(app, "")+"/triggers") {
			known[one.TriggerID] = true
		}
	}
	return known
}

const (
	// askers is how many ask again at the same time.
	askers = 8
	// insistence is how long a client asks again that is told to: on a machine without processor time the
	// masters of a cluster take each other for dead when all is quiet.
	insistence = 30 * time.Second
)

// askAgain sends every message and direct trigger that was answered once more, and returns the answers
// by the ids.
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

// closed reports whether the operation's session was closed by its own client.
func closed(o *operation) bool { return strings.HasPrefix(o.Session, "visit") }
