package main

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
)

// mostAllocations bounds the allocated objects of a plain message: the model calls one tool, whose event is
// published before the answer. There are 398 of them, and some 25 more if other tests keep the machine busy.
const mostAllocations = 440

// TestAPlainMessageAllocatesLittle counts objects, independently of the machine's load. Some messages dial or
// fill caches, so the least of several rounds counts.
func TestAPlainMessageAllocatesLittle(t *testing.T) {
	_, round := plainMessages(t)
	round() // connections, scripts and caches
	least := math.Inf(1)
	for range 3 {
		least = min(least, round())
	}
	t.Logf("%.0f allocations a message", least)
	require.LessOrEqual(t, least, float64(mostAllocations))
}

// restaurant is a repository with a tool, which restaurantModel calls, whatever it is told.
const restaurant = `{"tools":[{"name":"book-table","description":"To reserve a table",
	"schema":[{"parameter":"day","type":"string","description":"wished day","required":true}]}]}`

func restaurantModel(t *testing.T) (url string) {
	return testbed.Serve(t, "", http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // a client that is gone needs no answer
		testbed.Completion{Calls: [][2]string{{"book-table", `{"day":"Friday"}`}}}.Write(out, false)
	})) + "/v1"
}

// plainMessages starts a replica, and returns a function that posts some hundred messages, each in a new
// session, and returns the objects allocated per message.
func plainMessages(t *testing.T) (*testbed.Replica, func() float64) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and starts Earshot")
	}
	replica := testbed.NewReplica(t, t.TempDir(), "earshot", testbed.Program(t), "REDIS_URL="+redistest.Run(t).URL(), "NATS_URL="+natstest.Run(t).URL(),
		"OPENAI_API_KEY=none", "OPENAI_MODEL=double", "OPENAI_BASE_URL="+restaurantModel(t))
	require.NoError(t, replica.Up(t.Context()))
	ask := func(method, path, body string) string {
		answer := testbed.Got(replica.Ask(t.Context(), method, path, body))(t)
		require.Less(t, answer.Status, 300, "%s", answer.Body)
		return string(answer.Body)
	}
	ask(http.MethodPut, "/v1/apps/shop", `{"name":"shop","settings":{"limits":null}}`)
	ask(http.MethodPut, "/v1/apps/shop/repositories/main", restaurant)

	const messages, connections = 250, 4
	sent, allocated := 0, func() float64 {
		_, after, _ := strings.Cut(ask(http.MethodGet, "/metrics", ""), "\ngo_memstats_mallocs_total ")
		text, _, _ := strings.Cut(after, "\n")
		return testbed.Got(strconv.ParseFloat(text, 64))(t)
	}
	begun, at := time.Now(), allocated()
	testbed.Wait(t.Context(), time.Second)
	alone := (allocated() - at) / time.Since(begun).Seconds() // a replica's own allocations per second
	return replica, func() float64 {
		begun, before := time.Now(), allocated()
		var posting errgroup.Group
		posting.SetLimit(connections)
		for range messages {
			session := sent
			sent++
			posting.Go(func() error {
				answer, err := replica.Ask(t.Context(), http.MethodPost, fmt.Sprintf("/v1/apps/shop/sessions/s%d/messages", session),
					`{"actor":"user","text":"Good morning, this is Ms Keller. Please reserve a table on Friday"}`)
				if err == nil && !strings.Contains(string(answer.Body), `"state":"published"`) {
					err = fmt.Errorf("%d: %s", answer.Status, answer.Body)
				}
				return err
			})
		}
		require.NoError(t, posting.Wait())
		return (allocated() - before - alone*time.Since(begun).Seconds()) / messages
	}
}
