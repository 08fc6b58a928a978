// Package annotations reads examples in which values are marked with their parameters: "a table for [two](people)
// at [noon](time)" means "a table for two at noon". A literal bracket follows a backslash, as in "\[two](people)".
package annotations

import "strings"

// Example is a user's possible words, as plain text.
type Example struct {
	Text  string
	Marks []Mark // in text order, not nested
}

// Mark is a parameter's value within an example.
type Mark struct {
	Parameter string
	From, To  int // in Example.Text, in bytes, without surrounding spaces; equal if nothing is marked
	Value     any
}

// Words returns the marked words.
func (e Example) Words(m Mark) string { return e.Text[m.From:m.To] }

// maxName bounds the name in a mark, in bytes. It bounds the work on a text with many beginnings and no end of
// marks.
const maxName = 200

// Parse reads an example. keep returns the value of marked words, and whether the parameter accepts it; a refused
// mark stays in the text as given.
func Parse(given string, keep func(parameter, words string) (value any, kept bool)) Example {
	if !strings.ContainsAny(given, `[\`) {
		return Example{Text: given}
	}
	p := parser{given: given, open: -1, keep: keep}
	for at := 0; at < len(given); at++ {
		switch c := given[at]; {
		case c == '\\' && strings.HasPrefix(given[at+1:], "["):
			at++
		case c == '[':
			p.open = len(p.text)
		case c == ']' && p.open >= 0:
			if end := p.mark(at + 1); end >= 0 {
				at = end - 1
				continue
			}
			p.open = -1
		}
		p.text = append(p.text, given[at])
	}
	return Example{Text: string(p.text), Marks: p.marks}
}

// Plain returns an example without marks, for callers that do not know the tool.
func Plain(given string) string {
	return Parse(given, func(string, string) (any, bool) { return nil, true }).Text
}

type parser struct {
	given string
	text  []byte // without marks
	open  int    // place of the last opening bracket in the text; -1 for none
	marks []Mark
	keep  func(parameter, words string) (any, bool)
}

// mark reads the end of a mark after its closing bracket; its words are already in the text. The parameter's name
// is in parentheses, and may contain pairs of them. It returns the end of the mark, -1 for none.
func (p *parser) mark(at int) (end int) {
	depth, end := 0, -1
	for i := at; i < len(p.given) && i-at <= maxName && end < 0; i++ {
		switch c := p.given[i]; {
		case i == at && c != '(':
			return -1
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				end = i + 1
			}
		}
	}
	if end < 0 {
		return -1
	}
	name := strings.TrimSpace(p.given[at+1 : end-1])
	inside := string(p.text[p.open+1:])
	words := strings.TrimSpace(inside)
	from := p.open + strings.Index(inside, words)
	value, kept := p.keep(name, words)
	if !kept {
		return -1
	}
	p.text = append(p.text[:p.open], inside...)
	p.marks = append(p.marks, Mark{Parameter: name, From: from, To: from + len(words), Value: value})
	p.open = -1
	return end
}
