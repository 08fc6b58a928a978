package systemd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
)

// Journal is a writer whose lines systemd's journal takes. It writes them as they come; what has a
// priority is written with At.
type Journal struct{ io.Writer }

// Stderr is where a program writes what goes wrong: a Journal where systemd has connected it to its
// own, by what the variable JOURNAL_STREAM says (sd-daemon(3)).
func Stderr(file *os.File, lookup func(variable string) (string, bool)) io.Writer {
	if stream, set := lookup("JOURNAL_STREAM"); set && stream == streamOf(file) {
		return Journal{file}
	}
	return file
}

// Faults is out, whose lines are errors where it is a Journal.
func Faults(out io.Writer) io.Writer {
	if journal, is := out.(Journal); is {
		return journal.At(slog.LevelError)
	}
	return out
}

// prioritized is a writer whose lines have a priority.
type prioritized struct {
	out      io.Writer
	priority string
}

// At is a writer of lines of the priority that a level has in the journal.
func (j Journal) At(level slog.Level) io.Writer {
	number := 7
	switch {
	case level >= slog.LevelError:
		number = 3
	case level >= slog.LevelWarn:
		number = 4
	case level >= slog.LevelInfo:
		number = 6
	}
	return prioritized{j.Writer, fmt.Sprintf("<%d>", number)}
}

// Write writes whole lines, all at once: others write to the journal as well.
func (p prioritized) Write(text []byte) (int, error) {
	var lines bytes.Buffer
	for line := range bytes.Lines(text) {
		lines.WriteString(p.priority)
		lines.Write(line)
	}
	if _, err := p.out.Write(lines.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// levels are those of log lines.
var levels = []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

// Handler is what write makes of a writer, with the priority of each line's level before it.
func (j Journal) Handler(write func(io.Writer) slog.Handler) slog.Handler {
	var all byLevel
	for _, level := range levels {
		all = append(all, write(j.At(level)))
	}
	return all
}

// byLevel has a handler for each of levels.
type byLevel []slog.Handler

// at is the handler of the highest of levels that a line reaches.
func (b byLevel) at(level slog.Level) slog.Handler {
	found := b[0]
	for i, one := range levels {
		if level >= one {
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
