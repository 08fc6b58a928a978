package chain

import (
	"unicode/utf8"

	"earshot/matcher"
	"earshot/matcher/text"
)

// Exact matches a text that equals the name, the description or an example of a tool that
// needs no further values, apart from case, accents, punctuation and spacing: in effect a
// button of a front-end. It needs no LLM. If two tools have the same words, nothing is
// decided.
func Exact(request matcher.Request) (matcher.Result, bool) {
	said := text.Key(request.Text)
	if said == "" {
		return matcher.Result{}, false
	}
	var found *matcher.Candidate
	for i := range request.Candidates {
		if !spelledAs(said, &request.Candidates[i]) {
			continue
		}
		if found != nil {
			return matcher.Result{}, false
		}
		found = &request.Candidates[i]
	}
	if found == nil || found.Tool.Params().Infers() {
		return matcher.Result{}, false
	}
	return exactly(*found)
}

func exactly(candidate matcher.Candidate) (matcher.Result, bool) {
	reading := candidate.Tool.Params().Read(nil)
	if len(reading.Errors) > 0 {
		return matcher.Result{}, false
	}
	return matcher.Result{Stage: matcher.StageExact, Matches: []matcher.Match{{Candidate: candidate, Values: reading.Values}}}, true
}

// spelledAs compares with each of the candidate's own texts.
func spelledAs(said string, candidate *matcher.Candidate) bool {
	tool := candidate.Tool
	if spells(tool.Name, said) || spells(text.Identifier(tool.Name), said) || spells(tool.Description, said) {
		return true
	}
	for _, example := range tool.Examples {
		if spells(example, said) {
			return true
		}
	}
	return false
}

// spells reports whether said is the key of the tool's own text. The first letter is looked at
// before: a message is compared with every text in scope, and nearly all differ there.
func spells(own, said string) bool {
	for i := 0; i < len(own); i++ {
		c := own[i]
		if c >= utf8.RuneSelf || text.InWord(rune(c)) {
			return (c >= utf8.RuneSelf || lower(c) == said[0]) && text.Key(own) == said
		}
	}
	return false
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
