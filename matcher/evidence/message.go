package evidence

import (
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"earshot/matcher/moment"
	"earshot/matcher/text"
)

// message is one message of a conversation, and what has been read of it so far.
type message struct {
	id, actor, text  string
	now              time.Time
	question, answer *message // the next older and the next newer message

	tokens  []token
	spaced  string // the words with a space around each
	tight   string // the words without spaces
	parts   []segment
	divided bool
	numbers spans
	days    spans
	hours   spans
}

// span is a stretch of a message's text, in bytes.
type span struct{ from, to int }

// token is a word of a message of any length, with its offsets in the text, in the
// spaced form and in the tight form.
type token struct {
	norm                string
	start, end          int
	spaced, tight, last int
}

// tokenize splits a text like text.Split, but the whole of it and without expanding
// contractions: names are compared piece by piece, and grammar does not matter.
func tokenize(said string) []token {
	const usual, most = 5, 64 // bytes of a word with its space, words of a message
	found := make([]token, 0, min(len(said)/usual+1, most))
	for at := 0; at < len(said); {
		r, size := utf8.DecodeRuneInString(said[at:])
		switch {
		case r == '&':
			found = append(found, token{norm: "and", start: at, end: at + size})
		case text.InWord(r):
			size = tokenLength(said[at:])
			if norm := text.Fold(said[at : at+size]); norm != "" {
				found = append(found, token{norm: norm, start: at, end: at + size})
			}
		}
		at += size
	}
	return found
}

// tokenLength is the length of the word that the text begins with; a decimal sign
// between digits belongs to it, so that 5 is not found in 2.5.
func tokenLength(said string) int {
	first, length := utf8.DecodeRuneInString(said)
	if text.Unspaced(first) {
		return length
	}
	for length < len(said) {
		r, size := utf8.DecodeRuneInString(said[length:])
		decimal := (r == '.' || r == ',') && text.Joins(said[:length], r, said[length+size:])
		if (!text.InWord(r) || text.Unspaced(r)) && !decimal {
			break
		}
		length += size
	}
	return length
}

// lineUp writes the tokens into the spaced and the tight form.
func lineUp(tokens []token) (spaced, tight string) {
	var wide, narrow strings.Builder
	length := 1
	for i := range tokens {
		length += len(tokens[i].norm) + 1
	}
	wide.Grow(length)
	narrow.Grow(length)
	wide.WriteByte(' ')
	for i := range tokens {
		t := &tokens[i]
		t.spaced, t.tight = wide.Len(), narrow.Len()
		wide.WriteString(t.norm)
		wide.WriteByte(' ')
		narrow.WriteString(moment.WithoutMarks(t.norm))
		t.last = narrow.Len()
	}
	return wide.String(), narrow.String()
}

func (p *message) read() {
	if p.spaced == "" {
		p.tokens = tokenize(p.text)
		p.spaced, p.tight = lineUp(p.tokens)
	}
}

// run finds words that stand in the message in this order.
func (p *message) run(text string) (span, bool) {
	p.read()
	at := strings.Index(p.spaced, text)
	if at < 0 {
		return span{}, false
	}
	first := p.token(func(t token) int { return t.spaced }, at+1)
	last := p.token(func(t token) int { return t.spaced }, at+len(text)-2)
	return span{p.tokens[first].start, p.tokens[last].end}, true
}

// token returns the last token that begins at the offset or before it.
func (p *message) token(offset func(token) int, at int) int {
	return max(0, sort.Search(len(p.tokens), func(i int) bool { return offset(p.tokens[i]) > at })-1)
}

// joined finds a text that is spaced otherwise in the message: "wifi" for "Wi-Fi". It
// begins and ends with a word of the message.
func (p *message) joined(text string) (span, bool) {
	p.read()
	for from := 0; ; {
		at := strings.Index(p.tight[from:], text)
		if at < 0 {
			return span{}, false
		}
		at += from
		first := p.token(func(t token) int { return t.tight }, at)
		last := p.token(func(t token) int { return t.tight }, at+len(text)-1)
		if p.tokens[first].tight == at && p.tokens[last].last == at+len(text) {
			return span{p.tokens[first].start, p.tokens[last].end}, true
		}
		from = at + 1
	}
}

// lone finds a single letter that is a word elsewhere: after the parameter's name, or
// written as the value is where no sentence begins.
func (p *message) lone(letter string, topic []text.Word) (span, bool) {
	p.read()
	for i, t := range p.tokens {
		if t.norm != text.Fold(letter) {
			continue
		}
		if i > 0 && hasNorm(topic, p.tokens[i-1].norm) || len(p.tokens) == 1 {
			return span{t.start, t.end}, true
		}
		if letter == "A" && p.text[t.start:t.end] == letter && i > 0 && p.inSentence(i) {
			return span{t.start, t.end}, true
		}
	}
	return span{}, false
}

// inSentence reports whether no sentence begins with the token.
func (p *message) inSentence(i int) bool {
	return !strings.ContainsAny(p.text[p.tokens[i-1].end:p.tokens[i].start], ".?!:\n\"'“„")
}

func hasNorm(words []text.Word, norm string) bool {
	for _, w := range words {
		if w.Norm == norm {
			return true
		}
	}
	return false
}
