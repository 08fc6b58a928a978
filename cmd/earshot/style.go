package main

import (
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/mattn/go-isatty"
)

// style colours what is written to a terminal, and nothing else: a file or a pipe gets
// plain text. NO_COLOR turns colours off (https://no-color.org).
type style struct{ on bool }

func styleOf(out io.Writer, lookup func(string) (string, bool)) style {
	file, isFile := out.(*os.File)
	off, _ := lookup("NO_COLOR")
	term, _ := lookup("TERM")
	return style{isFile && isatty.IsTerminal(file.Fd()) && off == "" && term != "dumb"}
}

// Codes of ECMA-48, section 8.3.117.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (s style) paint(code, text string) string {
	if !s.on {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// printable keeps what others have written from steering the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return '�'
		}
		return r
	}, text)
}

// oneLine is printable text without line breaks.
func oneLine(text string) string {
	return strings.Join(strings.Fields(printable(text)), " ")
}
