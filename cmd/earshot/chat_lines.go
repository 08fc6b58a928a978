package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"earshot/cmd/earshot/terminal"
)

// maxLine bounds a line of a script, in bytes; the service takes no longer text.
const maxLine = 1 << 20

// typedLine is a line, or why there are no more.
type typedLine struct {
	text string
	err  error // io.EOF at the end
}

// converse posts line after line. A message that fails ends a script, and not a person's
// conversation.
func (c *chat) converse(ctx context.Context) error {
	next := c.lines()
	for {
		got := make(chan typedLine, 1)
		go func() { got <- next() }()
		var line typedLine
		select {
		case <-ctx.Done():
			if c.typed != nil {
				c.typed.Restore()
			}
			return nil
		case line = <-got:
		}
		if errors.Is(line.err, io.EOF) {
			if c.typed != nil {
				fmt.Fprintln(c.env.out) // behind the prompt
			}
			return nil
		}
		if line.err != nil {
			return line.err
		}
		err := c.handle(ctx, strings.TrimSpace(line.text))
		switch {
		case errors.Is(err, errQuit):
			return nil
		case err != nil && c.typed == nil:
			return err
		case err != nil:
			fmt.Fprintln(c.env.err, c.style.Paint(terminal.Red, err.Error()))
		}
	}
}

// lines returns what reads the next line: of a person at a terminal, or of a script.
func (c *chat) lines() func() typedLine {
	if c.typed != nil {
		return func() typedLine {
			text, err := c.typed.Line()
			return typedLine{text, err}
		}
	}
	scanner := bufio.NewScanner(c.env.in)
	scanner.Buffer(nil, maxLine)
	return func() typedLine {
		if scanner.Scan() {
			return typedLine{text: scanner.Text()}
		}
		if err := scanner.Err(); err != nil {
			return typedLine{err: fmt.Errorf("a line is no message: %w; the longest has %d bytes", err, maxLine)}
		}
		return typedLine{err: io.EOF}
	}
}
