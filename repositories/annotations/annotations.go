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
	// From and To are the place of the words in Example.Text, in bytes, without the spaces
	// around them; equal where nothing is marked.
	From, To int
	// Value is what the words stand for.
	Value any
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
	for p.at < len(given) {
		p.step()
	}
	return Example{Text: string(p.text), Marks: p.marks}
}

// Plain returns the words of an example without any marks, for those who do not know the tool.
func Plain(given string) string {
	return Parse(given, func(string, string) (any, bool) { return nil, true }).Text
}

type parser struct {
	given string
	at    int
	text  []byte
	// open is where the last opening bracket stands in the text, -1 for none.
	open  int
	marks []Mark
	keep  func(parameter, words string) (any, bool)
}

// step reads one byte of the text, or the end of a mark.
func (p *parser) step() {
	c := p.given[p.at]
	switch {
	case c == '\\' && strings.HasPrefix(p.given[p.at+1:], "["):
		p.text = append(p.text, '[')
		p.at += 2
		return
	case c == '[':
		p.open = len(p.text)
	case c == ']' && p.open >= 0:
		if p.mark() {
			return
		}
		p.open = -1
	}
	p.text = append(p.text, c)
	p.at++
}

// mark reads the end of a mark, from its closing bracket on: its words are in the text already,
// behind their bracket.
func (p *parser) mark() bool {
	name, end := p.name(p.at + 1)
	if end < 0 {
		return false
	}
	inside := string(p.text[p.open+1:])
	words := strings.TrimSpace(inside)
	from := p.open + strings.Index(inside, words)
	one := Mark{Parameter: name, From: from, To: from + len(words)}
	value, kept := p.keep(name, words)
	if !kept {
		return false
	}
	one.Value = value
	p.text = append(p.text[:p.open], inside...)
	p.marks, p.open, p.at = append(p.marks, one), -1, end
	return true
}

// name reads the name of a parameter, between parentheses; one that has parentheses of its own
// has them in pairs. The end is -1 if there is none.
func (p *parser) name(at int) (name string, end int) {
	if at >= len(p.given) || p.given[at] != '(' {
		return "", -1
	}
	depth := 0
	for i := at; i < len(p.given) && i-at <= longestName; i++ {
		switch p.given[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return strings.TrimSpace(p.given[at+1 : i]), i + 1
			}
		}
	}
	return "", -1
}
