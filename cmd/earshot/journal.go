package main

import (
	"bytes"
	"io"
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

// priorities are the prefixes of the journal, by the first letter of a level.
var priorities = map[byte]string{'D': "<7>", 'I': "<6>", 'W': "<4>", 'E': "<3>"}

// byLevel marks each line of a log with the priority of its level, which stands before anything else that may hold the word.
type byLevel struct{ io.Writer }

func (b byLevel) Write(line []byte) (int, error) {
	_, level, _ := bytes.Cut(line, []byte("level"))
	if level = bytes.TrimLeft(level, `=":`); len(level) == 0 {
		return b.Writer.Write(line)
	}
	return prioritized{b.Writer, priorities[level[0]]}.Write(line)
}
