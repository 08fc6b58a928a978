// Package annotations reads examples in which values are marked with the parameters that they are
// for: "a table for [two](people) at [noon](time)" says "a table for two at noon". A bracket
// that is meant as it is stands behind a backslash, as in "\[two](people)".
package annotations

import "strings"

// Example is what a user would say, in plain words.
type Example struct {
	Text  string
	Marks []Mark // in the order of the text, none within another
}

// Mark says that words of an example are the value of a parameter.
type Mark struct {
	Parameter string
	From, To  int // in Example.Text, in bytes, without the spaces around the words; equal if nothing is marked
	Value     any
}

// Words are the marked words.
func (e Example) Words(m Mark) string { return e.Text[m.From:m.To] }

// longestName is how many bytes the name in a mark has at most: a text with many that begin
// and none that ends is read in no more than that many steps a mark.
const longestName = 200

// Parse reads an example. Keep says what the words of a mark stand for, and whether they are a
// value of the parameter; a mark that it refuses is left in the text as it was given.
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

// Plain returns the words of an example without any marks, for those who do not know the tool.
func Plain(given string) string {
	return Parse(given, func(string, string) (any, bool) { return nil, true }).Text
}

type parser struct {
	given string
	text  []byte // without marks
	open  int    // where the last opening bracket stands in the text; -1 for none
	marks []Mark
	keep  func(parameter, words string) (any, bool)
}

// mark reads the end of a mark, from behind its closing bracket on: its words are in the text
// already, behind their bracket. The name of the parameter stands between parentheses; one that has parentheses
// of its own has them in pairs. It returns where the mark ends, -1 if it is none.
func (p *parser) mark(at int) (end int) {
	depth, end := 0, -1
	for i := at; i < len(p.given) && i-at <= longestName && end < 0; i++ {
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
