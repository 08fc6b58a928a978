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

// Editor reads lines that a person types at a terminal, who can move within a line, and
// back to earlier ones.
type Editor struct {
	in     *os.File
	screen *term.Terminal

	mu     sync.Mutex
	cooked *term.State // as the terminal was, while a line is read
}

// NewEditor returns an editor, nil where nobody sits at a terminal. words are completed
// with the tab key at the beginning of a line.
func NewEditor(in io.Reader, out io.Writer, prompt string, words []string) *Editor {
	typed, isFile := in.(*os.File)
	shown, isScreen := out.(*os.File)
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

// Remember makes a line one that can be gone back to.
func (e *Editor) Remember(line string) { e.screen.History.Add(OneLine(line)) }

// Line reads a line. It returns io.EOF where the person ends it with Ctrl-C or Ctrl-D. The
// terminal is as it was when it returns, so that Ctrl-C ends what comes between two lines.
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
		_ = e.screen.SetSize(columns, rows) // fails where it cannot draw
	}
	return e.screen.ReadLine()
}

// Restore makes the terminal what it was before Line, which may still be waiting.
func (e *Editor) Restore() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cooked != nil {
		_ = term.Restore(int(e.in.Fd()), e.cooked) // of a terminal that is gone
		e.cooked = nil
	}
}
