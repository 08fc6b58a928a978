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

	"earshot/deploy/faults/endpoints"
)

// operation is one thing that a client asked for, with what it was told.
type operation struct {
	App, Session string
	ID           string // messageId or triggerId; of a chat as it was told; empty for a registration
	Kind         string
	Expects      string // tool that the message calls for; empty for none, or not known
	Path, Body   string
	// Trigger is what a cancel, confirm, deny or answer is about, and Consent the plain yes or
	// no that a message is. Alone says that nobody else asks for anything about it, and Broken
	// that an attempt came to nothing, so that it may have been done by the time of the next.
	Trigger, Consent string
	Alone, Broken    bool
	// Given are the values that a call, or an answer to what it lacks, brings.
	Given map[string]string
	// Ordered says that its client waited for the answer before it went on, and that
	// nobody else speaks in the session.
	Ordered bool
	Status  int
	Answer  string // of the last attempt
	At      time.Time
	// sound says why an answer of 2xx is none yet; nil where each is one.
	sound func(answer string) error
	// Recovery is the time from a lost connection to the answer, where one was lost.
	Recovery time.Duration
	// Disturbed says that much else went wrong meanwhile, so that nobody outside can
	// tell what Recovery was the time of.
	Disturbed bool
}

// clients are all who talk to the service, with the books that they keep.
type clients struct {
	world *world
	// calm is false while so much goes wrong that no time can be taken.
	calm func() bool

	mu     sync.Mutex
	issued int
	done   []*operation
	lost   []*operation // never answered
	// failed are the triggers that had failed when all was quiet, and retried how often
	// each was retried by hand then.
	failed  []record
	retried map[string]int
}

// stubborn is how long an operation is tried. It is far above every lease.
const stubborn = 2 * time.Minute

// do asks until there is an answer that is final, of one replica after the other, under
// one id, as a careful client does.
func (c *clients) do(ctx context.Context, dice *rand.Rand, o *operation, method string, header ...string) *operation {
	ctx, cancel := context.WithTimeout(ctx, stubborn)
	defer cancel()
	if c.insist(ctx, dice, o, method, header...) {
		c.keep(&c.done, o)
	} else {
		c.keep(&c.lost, o)
	}
	return o
}

// insist asks until there is an answer that is final, or ctx ends. It writes nothing into the
// books.
func (c *clients) insist(ctx context.Context, dice *rand.Rand, o *operation, method string, header ...string) (answered bool) {
	var broken time.Time
	for ctx.Err() == nil {
		asked := c.world.replicas[dice.IntN(len(c.world.replicas))]
		status, answer, head, err := c.send(ctx, asked.url()+o.Path, method, o.Body, header...)
		o.Disturbed = o.Disturbed || !c.calm()
		if err == nil && status < 300 && o.sound != nil {
			err = o.sound(answer)
		}
		if err == nil && status < 500 && status != http.StatusTooManyRequests {
			o.Status, o.Answer, o.At = status, answer, time.Now()
			if o.Kind == "chat" {
				o.ID = head.Get("X-Earshot-Message-Id")
			}
			if !broken.IsZero() {
				o.Recovery = time.Since(broken)
			}
			return true
		}
		if err != nil && o.ID != "" && !strings.Contains(err.Error(), "refused") {
			broken = time.Now()
		}
		o.Answer, o.Broken = fmt.Sprint(status, answer, err), true
		wait(ctx, 30*time.Millisecond)
	}
	return false
}

func (c *clients) keep(list *[]*operation, o *operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*list = append(*list, o)
}

// attemptLimit is a little more than a lease, after which the answer of a dead replica
// is to be had from another.
const attemptLimit = 25 * time.Second

func (c *clients) ask(ctx context.Context, url, method, body string, header ...string) (int, string, error) {
	status, answer, _, err := c.send(ctx, url, method, body, header...)
	return status, answer, err
}

// send makes one attempt.
func (c *clients) send(ctx context.Context, url, method, body string, header ...string) (int, string, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.world.secrets.admin)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := httpClient.Do(request)
	if err != nil {
		return 0, "", nil, err
	}
	defer response.Body.Close()
	text := endpoints.ReadAll(response.Body)
	if length := response.ContentLength; length >= 0 && int64(len(text)) < length {
		return 0, "", nil, fmt.Errorf("the answer was cut")
	}
	c.world.secrets.look("an answer of the API", text)
	return response.StatusCode, text, response.Header, nil
}

// id makes an id that was not used before.
func (c *clients) id(kind string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.issued++
	return fmt.Sprintf("%s-%d", kind, c.issued)
}

// read asks for a list to its end.
func read[T any](ctx context.Context, c *clients, path string) ([]T, error) {
	var all []T
	for after := ""; ; {
		status, body, err := c.ask(ctx, c.world.replicas[0].url()+path+"?limit=100&after="+after, http.MethodGet, "")
		if err != nil || status != http.StatusOK {
			return nil, fmt.Errorf("GET %s: %d %s %v", path, status, body, err)
		}
		var page struct {
			Items []T
			Next  string
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if after = page.Next; after == "" {
			return all, nil
		}
	}
}

// wait pauses, or not so long where ctx ends.
func wait(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}
