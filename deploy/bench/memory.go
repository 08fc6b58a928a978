package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
)

const mebibyte = 1 << 20

// kinds are what Redis holds, and how one is added: a message that is only stored, one that is matched, or a direct trigger.
var kinds = []struct {
	name           string
	stored, direct bool
	matches        int
	outside        bool
}{
	{name: "idle session, one message said in it", stored: true},
	{name: "message more in it", stored: true},
	{name: "message that sets off none"},
	{name: "message that sets off one tool, with record and explanation", matches: 1},
	{name: "direct trigger in a session", direct: true},
	{name: "direct trigger without one", direct: true, outside: true},
}

// space is what Redis uses, all of it and the keys alone, and what NATS has on its disk, in bytes.
type space struct{ total, keys, disk float64 }

func (b *bench) memory(ctx context.Context) {
	w, c := workload{app: "memory", tools: b.tools, sessions: b.things}, newClient(b.earshot(), b.connections[0])
	b.must(w.register(ctx, c))
	rows := [][]string{{"for each", "bytes of Redis", "bytes of its keys", "bytes on the disk of NATS"}}
	// The last few requests may not be flushed yet.
	growing := func(name string, n int, do func()) {
		before := b.space(ctx)
		do()
		after := b.space(ctx)
		rows = append(rows, bytesRow(name, space{after.total - before.total, after.keys - before.keys, after.disk - before.disk}, n))
	}
	for _, kind := range kinds {
		one := w
		if one.direct, one.matches = kind.direct, kind.matches; kind.outside {
			one.sessions = 0
		}
		growing(kind.name, b.things, func() {
			b.each(ctx, b.things, func(ctx context.Context, i int) error {
				if kind.stored {
					return one.tell(ctx, c, i)
				}
				_, err := one.post(ctx, []client{c}, i)
				return err
			})
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
	used := space{total: b.usedMemory(ctx)}
	b.must(filepath.WalkDir(b.nats.Folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a file that was there for a moment
		}
		if err == nil {
			used.disk += float64(file.Size())
		}
		return err
	}))
	keys := b.redis.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		// A key that has gone since counts as nothing.
		size, _ := b.redis.MemoryUsage(ctx, keys.Val(), 0).Result()
		used.keys += float64(size)
	}
	b.must(keys.Err())
	return used
}

func (b *bench) usedMemory(ctx context.Context) float64 {
	info, err := b.redis.InfoMap(ctx, "memory").Result()
	b.must(err)
	total, err := strconv.ParseFloat(info["Memory"]["used_memory"], 64)
	b.must(err)
	return total
}
