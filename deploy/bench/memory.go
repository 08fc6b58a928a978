package main

import (
	"context"
	"fmt"
	"strconv"
)

const mebibyte = 1 << 20

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
		return w.one(ctx, c, i)
	}},
	{"message that sets off one tool", func(ctx context.Context, w workload, c client, i int) error { return w.one(ctx, c, i) }},
	{"direct trigger in a session", func(ctx context.Context, w workload, c client, i int) error {
		w.direct = true
		return w.one(ctx, c, i)
	}},
	{"direct trigger without one", func(ctx context.Context, w workload, c client, i int) error {
		w.direct, w.sessions = true, 0
		return w.one(ctx, c, i)
	}},
}

func (w workload) one(ctx context.Context, c client, i int) error {
	_, err := w.post(ctx, []client{c}, i)
	return err
}

// space is what Redis uses, all of it and the keys alone, and what NATS has on its disk, in bytes.
type space struct{ total, keys, disk float64 }

// memory prints how many bytes a thing of each kind takes in Redis and on NATS's disk.
func (b *bench) memory(ctx context.Context) {
	w, c := workload{app: "memory", tools: b.tools, matches: 1, sessions: b.things}, newClient(b.earshot(), b.connections[0])
	b.must(w.register(ctx, c))
	rows := [][]string{{"for each", "bytes of Redis", "bytes of its keys", "bytes on the disk of NATS"}}
	// What is written behind an answer may be missing, but for the last few requests.
	growing := func(name string, n int, do func()) {
		before := b.space(ctx)
		do()
		after := b.space(ctx)
		rows = append(rows, bytesRow(name, space{after.total - before.total, after.keys - before.keys, after.disk - before.disk}, n))
	}
	for _, kind := range kinds {
		growing(kind.name, b.things, func() {
			b.each(ctx, b.things, func(ctx context.Context, i int) error { return kind.add(ctx, w, c, i) })
		})
	}
	many := workload{app: "memory-tools", tools: min(b.things, maxTools)}
	growing("tool", many.tools, func() { b.must(many.register(ctx, c)) })
	b.note("## bytes in Redis and on the disk of NATS, of %d each", b.things)
	b.table(rows)
}

func bytesRow(name string, took space, n int) []string {
	row := []string{name}
	for _, bytes := range []float64{took.total, took.keys, took.disk} {
		row = append(row, fmt.Sprintf("%.0f", bytes/float64(n)))
	}
	return row
}

func (b *bench) space(ctx context.Context) space {
	used := space{total: b.usedMemory(ctx), disk: float64(b.streamBytes())}
	keys := b.redis.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		// A key may have gone since it was listed, and counts as nothing.
		size, _ := b.redis.MemoryUsage(ctx, keys.Val(), 0).Result()
		used.keys += float64(size)
	}
	b.must(keys.Err())
	return used
}

// usedMemory is all that Redis has allocated, in bytes.
func (b *bench) usedMemory(ctx context.Context) float64 {
	info, err := b.redis.InfoMap(ctx, "memory").Result()
	b.must(err)
	total, err := strconv.ParseFloat(info["Memory"]["used_memory"], 64)
	b.must(err)
	return total
}
