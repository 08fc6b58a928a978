package files

import (
	"regexp"
	"strings"
)

// chunk is the source of one document of a YAML stream: its lines, without the markers,
// and how many lines come before it.
type chunk struct {
	lines  []string
	before int
}

var (
	// A line that begins with --- or ... is a marker wherever it stands, even within
	// a block of text (YAML 1.2.2, section 9.1.2).
	documentStart = regexp.MustCompile(`^---(\s|$)`)
	documentEnd   = regexp.MustCompile(`^\.\.\.(\s|$)`)
	directive     = regexp.MustCompile(`^%(YAML|TAG)\s`)
)

// chunks cuts a stream into its documents. The parser could, but it stops at an empty
// document and loses all that follows, and a fault in one document would hide those of
// the others. A document of nothing but comments is part of the one that follows.
func chunks(source string) []chunk {
	var found []chunk
	current := chunk{}
	for i, line := range strings.SplitAfter(source, "\n") {
		switch {
		case documentStart.MatchString(line), documentEnd.MatchString(line):
			if !current.empty() {
				found = append(found, current)
				current = chunk{before: i}
			}
			line = "   " + line[3:] // keeps the columns of what stands behind it
		case directive.MatchString(line) && current.empty():
			line = "#" + line[1:]
		}
		current.lines = append(current.lines, line)
	}
	if !current.empty() {
		found = append(found, current)
	}
	return found
}

// empty reports whether a document says nothing: it has no line but comments.
func (c chunk) empty() bool {
	for _, line := range c.lines {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

func (c chunk) text() string { return strings.Join(c.lines, "") }

// Bounds of what the parser is given: its time grows with the square of the keys of
// one map and of the depth.
const (
	maxKeys   = 40_000
	maxOpen   = 200
	maxDashes = 64
)

// violation says why a document is not given to the parser, or nothing.
func (c chunk) violation() string {
	open, deepest, keys := 0, 0, 0
	for _, line := range c.lines {
		for _, sign := range line {
			switch sign {
			case '[', '{':
				open++
				deepest = max(deepest, open)
			case ']', '}':
				open = max(open-1, 0)
			case ':', ',':
				keys++
			}
		}
		if nestingOf(line) > maxDashes {
			return "is nested too deep"
		}
	}
	switch {
	case deepest > maxOpen:
		return "is nested too deep, or has very many brackets that are not closed"
	case keys > maxKeys:
		return "is too long for one document; write several, with --- between them"
	}
	return ""
}

// nestingOf counts the signs at the beginning of a line that each open another level,
// as in "- - - a".
func nestingOf(line string) int {
	n := 0
	for _, word := range strings.Fields(line) {
		if !strings.ContainsRune("-?!&:", rune(word[0])) {
			break
		}
		n++
	}
	return n
}
