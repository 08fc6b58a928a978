package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"earshot/deploy/bench/double"
	"earshot/deploy/bench/load"
	"earshot/deploy/bench/rig"
)

// chatApp is the app whose chats are relayed.
const chatApp = "chats"

// route is a way to the model, by which streamed chats go.
type route struct {
	name string
	url  string
	// body is that of the i-th request.
	body func(i int) string
}

// chatsOf says the same in every request, or something else in each.
func chatsOf(session string, anew bool) func(i int) string {
	return func(i int) string {
		if !anew {
			i = 0
		}
		return fmt.Sprintf(`{"model":"double","stream":true,%s"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"What time is it, %d?"}]}`, session, i)
	}
}

// chats prints what streamed chats cost that Earshot relays, beside the least that relays them
// and beside none at all.
func (b *bench) chats(ctx context.Context) error {
	relay, err := b.world.Relay(ctx)
	if err != nil {
		return err
	}
	earshot, err := b.world.Earshot(ctx)
	if err != nil {
		return err
	}
	w := workload{app: chatApp, tools: b.tools}
	if err := w.register(ctx, newClient(earshot, 1)); err != nil {
		return err
	}
	to := earshot.URL + "/v1/apps/" + chatApp + "/openai/v1/chat/completions"
	routes := []route{
		{"the model itself", b.world.Model() + "/chat/completions", chatsOf("", false)},
		{"bare relay", relay.URL + "/chat/completions", chatsOf("", false)},
		{"Earshot, nothing heard", to, chatsOf("", false)},
		{"Earshot, the same again", to, chatsOf(`"user":"s1",`, false)},
		{"Earshot, each a message", to, chatsOf(`"user":"s2",`, true)},
	}
	for _, connections := range b.connections {
		rounds := make([][]heard, b.rounds)
		for i := range rounds {
			if rounds[i], err = b.chatRound(ctx, routes, connections); err != nil {
				return err
			}
		}
		b.note("## streamed chats, %s, %s", b.at(connections), b.rounded())
		b.table(chatTable(routes, rounds))
	}
	return nil
}

// heard is what one way to the model took.
type heard struct {
	rate, first, p99 float64 // streams a second; ms until the first byte, half of them and 99 of 100
	failed           int64
}

// chatRound measures every way, one after the other.
func (b *bench) chatRound(ctx context.Context, routes []route, connections int) (found []heard, err error) {
	for _, way := range routes {
		one, err := b.chat(ctx, way, connections)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		found = append(found, one)
	}
	return found, nil
}

// chat measures one way.
func (b *bench) chat(ctx context.Context, way route, connections int) (heard, error) {
	asking := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}}
	defer asking.CloseIdleConnections()
	var mu sync.Mutex
	var times *hdrhistogram.Histogram
	send := func(ctx context.Context, i int) error {
		took, err := streamed(ctx, asking, way.url, way.body(i))
		mu.Lock()
		defer mu.Unlock()
		_ = times.RecordValue(took.Microseconds()) // none is above the largest
		return err
	}
	var result load.Result
	for _, span := range []time.Duration{b.warmup, b.measured} {
		times = hdrhistogram.New(1, time.Minute.Microseconds(), 3)
		var err error
		if result, err = load.Run(ctx, load.Plan{Connections: connections, Rate: b.rate, For: span, First: b.numbers(warmupNumbers)}, send); err != nil {
			return heard{}, err
		}
	}
	if result.Done == 0 {
		return heard{}, result.Failure
	}
	return heard{result.Rate(), float64(times.ValueAtPercentile(50)) / 1000, float64(times.ValueAtPercentile(99)) / 1000, result.Failed}, nil
}

// streamed sends a chat, and wants all of its answer. It returns how long the first byte took.
func streamed(ctx context.Context, asking *http.Client, url, body string) (first time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+rig.AdminKey)
	began := time.Now()
	response, err := asking.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }() // read to its end
	var byteOne [1]byte
	if _, err := io.ReadFull(response.Body, byteOne[:]); err != nil {
		return 0, err
	}
	first = time.Since(began)
	rest, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !bytes.HasSuffix(rest, []byte(double.End))) {
		err = fmt.Errorf("%s: %s%s", response.Status, byteOne, rest)
	}
	return first, err
}

// chatTable has the medians of all rounds. What is added to the first byte is beside the model
// itself in the same round, and its ratio beside the bare relay.
func chatTable(routes []route, rounds [][]heard) [][]string {
	rows := [][]string{{"by way of", "streams/s", "× relay", "first byte, p50 ms", "added ms", "× relay", "p99 ms", "failed"}}
	for n, way := range routes {
		of := func(pick func(round []heard) float64) float64 {
			var values []float64
			for _, round := range rounds {
				values = append(values, pick(round))
			}
			return median(values)
		}
		added := func(n int) func([]heard) float64 {
			return func(r []heard) float64 { return r[n].first - r[0].first }
		}
		rows = append(rows, []string{
			way.name, fmt.Sprintf("%.0f", of(func(r []heard) float64 { return r[n].rate })), fmt.Sprintf("%.2f", of(func(r []heard) float64 { return r[n].rate / r[1].rate })),
			fmt.Sprintf("%.3f", of(func(r []heard) float64 { return r[n].first })), fmt.Sprintf("%.3f", of(added(n))),
			fmt.Sprintf("%.2f", of(func(r []heard) float64 { return added(n)(r) / added(1)(r) })),
			fmt.Sprintf("%.3f", of(func(r []heard) float64 { return r[n].p99 })), fmt.Sprintf("%.0f", of(func(r []heard) float64 { return float64(r[n].failed) })),
		})
	}
	return rows
}
