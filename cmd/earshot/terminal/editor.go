package terminal

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"
)

// Editor reads lines that a person types at a terminal, with editing and history.
type Editor struct {
	in     *os.File
	screen *term.Terminal

	mu     sync.Mutex
	cooked *term.State // the terminal's state before Line
}

// NewEditor returns an editor; nil unless in and out are a terminal. words are completed with the tab key at
// the start of a line.
func NewEditor(in io.Reader, out io.Writer, prompt string, words []string) *Editor {
	typed, isFile := in.(*os.File)
	shown, isScreen := fileOf(out)
	if !isFile || !isScreen || !isatty.IsTerminal(typed.Fd()) || !isatty.IsTerminal(shown.Fd()) {
		return nil
	}
	e := &Editor{in: typed, screen: term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{typed, shown}, prompt)}
	e.screen.AutoCompleteCallback = func(line string, at int, key rune) (string, int, bool) {
		if key != '\t' || at != len(line) || line == "" {
			return "", 0, false
		}
		begin := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !strings.HasPrefix(word, line) })
		if len(begin) == 1 {
			line = begin[0]
		}
		return line, len(line), true
	}
	return e
}

// Remember adds a line to the history.
func (e *Editor) Remember(line string) { e.screen.History.Add(OneLine(line)) }

// Line reads a line. It returns io.EOF after Ctrl-C or Ctrl-D. It restores the terminal on return, so that
// Ctrl-C works between lines.
func (e *Editor) Line() (string, error) {
	state, err := term.MakeRaw(int(e.in.Fd()))
	if err != nil {
		return "", err
	}
	e.mu.Lock()
	e.cooked = state
	e.mu.Unlock()
	defer e.Restore()
	if columns, rows, err := term.GetSize(int(e.in.Fd())); err == nil && columns > 0 {
		_ = e.screen.SetSize(columns, rows) // fails if it cannot draw
	}
	return e.screen.ReadLine()
}

// Restore restores the terminal's state, also while Line waits.
func (e *Editor) Restore() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cooked != nil {
		_ = term.Restore(int(e.in.Fd()), e.cooked) // fails if the terminal is gone
		e.cooked = nil
	}
}
