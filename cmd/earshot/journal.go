package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
)

type journal struct{ io.Writer }

// standardError returns the writer of errors: a journal if systemd connected file to its own, according to
// JOURNAL_STREAM (sd-daemon(3)).
func standardError(file *os.File, lookup func(variable string) (string, bool)) io.Writer {
	if stream, set := lookup("JOURNAL_STREAM"); set && stream == streamOf(file) {
		return journal{file}
	}
	return file
}

// priorities maps the least level of a log line to the journal's prefix.
var priorities = []struct {
	level  slog.Level
	prefix string
}{{slog.LevelDebug, "<7>"}, {slog.LevelInfo, "<6>"}, {slog.LevelWarn, "<4>"}, {slog.LevelError, "<3>"}}

// faultsTo returns out, and in a journal marks its lines as errors.
func faultsTo(out io.Writer) io.Writer {
	if to, is := out.(journal); is {
		return prioritized{to.Writer, "<3>"}
	}
	return out
}

type prioritized struct {
	out    io.Writer
	prefix string
}

// Write writes whole lines in one call: other processes write to the journal as well.
func (p prioritized) Write(text []byte) (int, error) {
	var lines bytes.Buffer
	for line := range bytes.Lines(text) {
		lines.WriteString(p.prefix)
		lines.Write(line)
	}
	if _, err := p.out.Write(lines.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// handler returns a handler that prefixes each line with the priority of its level.
func (j journal) handler(write func(io.Writer) slog.Handler) slog.Handler {
	var all byLevel
	for _, one := range priorities {
		all = append(all, write(prioritized{j.Writer, one.prefix}))
	}
	return all
}

type byLevel []slog.Handler

// at returns the handler of the highest level that a line reaches.
func (b byLevel) at(level slog.Level) slog.Handler {
	found := b[0]
	for i, one := range priorities {
		if level >= one.level {
			found = b[i]
		}
	}
	return found
}

func (b byLevel) with(change func(slog.Handler) slog.Handler) slog.Handler {
	changed := make(byLevel, len(b))
	for i, one := range b {
		changed[i] = change(one)
	}
	return changed
}

// Enabled implements slog.Handler.
func (b byLevel) Enabled(ctx context.Context, level slog.Level) bool {
	return b.at(level).Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (b byLevel) Handle(ctx context.Context, record slog.Record) error {
	return b.at(record.Level).Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (b byLevel) WithAttrs(attrs []slog.Attr) slog.Handler {
	return b.with(func(one slog.Handler) slog.Handler { return one.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (b byLevel) WithGroup(name string) slog.Handler {
	return b.with(func(one slog.Handler) slog.Handler { return one.WithGroup(name) })
}
