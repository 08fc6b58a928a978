// Package terminal formats text for terminals: with colours on a terminal, and without control characters.
package terminal

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/mattn/go-isatty"
)

// Style colours text on a terminal, but not in a file or pipe. NO_COLOR turns colours off
// (https://no-color.org).
type Style struct{ on bool }

// StyleOf returns the style for an output, from its kind and the environment.
func StyleOf(out io.Writer, lookup func(string) (string, bool)) Style {
	file, isFile := fileOf(out)
	off, _ := lookup("NO_COLOR")
	term, _ := lookup("TERM")
	return Style{isFile && isatty.IsTerminal(file.Fd()) && off == "" && term != "dumb"}
}

// Codes for Paint (ECMA-48, section 8.3.117).
const (
	Plain  = ""
	Bold   = "1"
	Faint  = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

// Paint returns the text in a colour or weight.
func (s Style) Paint(code, text string) string {
	if !s.on || code == Plain {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Printable replaces the characters in untrusted text that steer a terminal: controls, and those that show text in
// another order (Unicode Standard Annex 9, sections 2.1 to 2.5).
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		control := r != '\n' && r != '\t' && unicode.IsControl(r)
		if control || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return '�'
		}
		return r
	}, text)
}

// OneLine returns printable text without line breaks.
func OneLine(text string) string { return strings.Join(strings.Fields(Printable(text)), " ") }

// Compact writes JSON in one line.
func Compact(text []byte) []byte {
	var line bytes.Buffer
	if json.Compact(&line, text) != nil {
		return bytes.ReplaceAll(text, []byte("\n"), []byte(" "))
	}
	return line.Bytes()
}

// Output is the output of a command. It keeps the first error, so that printing need not check each line.
type Output struct {
	out    io.Writer
	failed atomic.Pointer[error]
}

// NewOutput returns the output to out.
func NewOutput(out io.Writer) *Output { return &Output{out: out} }

// Write implements io.Writer.
func (o *Output) Write(text []byte) (int, error) {
	n, err := o.out.Write(text)
	if err != nil {
		o.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// Err returns the first error.
func (o *Output) Err() error {
	if err := o.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func fileOf(out io.Writer) (file *os.File, is bool) {
	if wrapped, is := out.(*Output); is {
		out = wrapped.out
	}
	file, is = out.(*os.File)
	return file, is
}
