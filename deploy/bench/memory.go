package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"earshot/deploy/bench/load"
)

// fillSessions brings Redis to n idle sessions, by copies of the keys of one in which
// something was said: a million would take most of an hour over REST. What many sessions
// share in one key does not grow with the copies.
func (b *bench) fillSessions(ctx context.Context, g *growth, n int) error {
	const model = "pattern"
	path := "/v1/apps/" + g.workload.app + "/sessions/" + model + "/messages"
	body := map[string]any{"messageId": "m", "actor": "agent", "text": "The table is free again this afternoon."}
	if err := newClient(g.replicas[0], 1).send(ctx, http.MethodPost, path, body, nil); err != nil {
		return err
	}
	dumps, err := b.dump(ctx, model)
	if err != nil {
		return err
	}
	pipe := b.world.Redis.Pipeline()
	for i := range n {
		for key, dump := range dumps {
			pipe.RestoreReplace(ctx, strings.ReplaceAll(key, model, "s"+strconv.Itoa(i)), 0, dump)
		}
		if pipe.Len() > 1000 || i == n-1 {
			if _, err := pipe.Exec(ctx); err != nil {
				return fmt.Errorf("copy sessions: %w", err)
			}
		}
	}
	return nil
}

// dump reads all keys that have a word in their name.
func (b *bench) dump(ctx context.Context, word string) (map[string]string, error) {
	dumps := map[string]string{}
	keys := b.world.Redis.Scan(ctx, 0, "*"+word+"*", 1000).Iterator()
	for keys.Next(ctx) {
		dump, err := b.world.Redis.Dump(ctx, keys.Val()).Result()
		if err != nil {
			return nil, fmt.Errorf("dump %s: %w", keys.Val(), err)
		}
		dumps[keys.Val()] = dump
	}
	return dumps, keys.Err()
}

// stored is a kind of thing that Redis holds, and how to add some.
type stored struct {
	name string
	add  func(ctx context.Context, w workload, c client, i int) error
}

var kinds = []stored{
	{"idle session, one message said in it", func(ctx context.Context, w workload, c client, i int) error { return w.tell(ctx, c, i) }},
	{"message more in it", func(ctx context.Context, w workload, c client, i int) error { return w.tell(ctx, c, i) }},
	{"message that sets off none", func(ctx context.Context, w workload, c client, i int) error {
		w.matches = 0
		return w.post(ctx, []client{c}, i)
	}},
	{"message that sets off one tool", func(ctx context.Context, w workload, c client, i int) error {
		return w.post(ctx, []client{c}, i)
	}},
	{"direct trigger in a session", func(ctx context.Context, w workload, c client, i int) error {
		w.direct = true
		return w.post(ctx, []client{c}, i)
	}},
	{"direct trigger without one", func(ctx context.Context, w workload, c client, i int) error {
		w.direct, w.sessions = true, 0
		return w.post(ctx, []client{c}, i)
	}},
}

// usage is what Redis uses, all of it and the keys alone, and what NATS has on its disk.
type usage struct{ total, keys, disk float64 }

// memory prints how many bytes a thing of each kind takes in Redis and on NATS's disk.
func (b *bench) memory(ctx context.Context) error {
	s, err := b.world.Earshot(ctx)
	if err != nil {
		return err
	}
	w, c := workload{app: "memory", tools: b.tools, matches: 1, sessions: b.things}, newClient(s, b.connections[0])
	defer c.http.CloseIdleConnections()
	if err := w.register(ctx, c); err != nil {
		return err
	}
	rows := [][]string{{"for each", "bytes of Redis", "bytes of its keys", "bytes on the disk of NATS"}}
	for _, kind := range kinds {
		took, err := b.growing(ctx, func() error { return b.add(ctx, kind, w, c) })
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		rows = append(rows, bytesRow(kind.name, took, b.things))
	}
	many := workload{app: "memory-tools", tools: min(b.things, maxTools)}
	took, err := b.growing(ctx, func() error { return many.register(ctx, c) })
	if err != nil {
		return fmt.Errorf("tools: %w", err)
	}
	b.note("## bytes in Redis and on the disk of NATS, of %d each", b.things)
	b.table(append(rows, bytesRow("tool", took, many.tools)))
	return nil
}

func bytesRow(name string, took usage, n int) []string {
	row := []string{name}
	for _, bytes := range []float64{took.total, took.keys, took.disk} {
		row = append(row, fmt.Sprintf("%.0f", bytes/float64(n)))
	}
	return row
}

// add adds as many of a kind as things are asked for, one to each session.
func (b *bench) add(ctx context.Context, kind stored, w workload, c client) error {
	plan := load.Plan{Connections: b.connections[0], Requests: b.things}
	result, err := load.Run(ctx, plan, func(ctx context.Context, i int) error { return kind.add(ctx, w, c, i) })
	if err == nil {
		err = result.Failure
	}
	return err
}

// growing is how much more is used after something was done. What is written behind
// an answer may be missing, but for the last few requests.
func (b *bench) growing(ctx context.Context, do func() error) (usage, error) {
	before, err := b.used(ctx)
	if err != nil {
		return usage{}, err
	}
	if err := do(); err != nil {
		return usage{}, err
	}
	after, err := b.used(ctx)
	return usage{after.total - before.total, after.keys - before.keys, after.disk - before.disk}, err
}

func (b *bench) used(ctx context.Context) (usage, error) {
	total, err := b.usedMemory(ctx)
	if err != nil {
		return usage{}, err
	}
	disk, err := b.world.StreamBytes()
	if err != nil {
		return usage{}, err
	}
	used := usage{total: total, disk: float64(disk)}
	keys := b.world.Redis.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		// A key may have gone since it was listed, and counts as nothing.
		size, _ := b.world.Redis.MemoryUsage(ctx, keys.Val(), 0).Result()
		used.keys += float64(size)
	}
	return used, keys.Err()
}

// usedMemory is all that Redis has allocated, in bytes.
func (b *bench) usedMemory(ctx context.Context) (float64, error) {
	info, err := b.world.Redis.InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	total, err := strconv.ParseFloat(info["Memory"]["used_memory"], 64)
	if err != nil {
		return 0, fmt.Errorf("used_memory: %w", err)
	}
	return total, nil
}
