package chain

import (
	"hash/maphash"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/repositories"
)

// Exact matches a text equal to the name, the description or an example of a tool without further values, ignoring
// case, accents, punctuation and spacing: in effect a front-end's button. It needs no LLM. If two tools have the
// same text, nothing is decided.
func Exact(request matcher.Request) (matcher.Result, bool) {
	key := text.Key(request.Text)
	if key == "" {
		return matcher.Result{}, false
	}
	found := spelled(request, key)
	if len(found) > 0 && text.ByMark(request.Text) { // it asks whether, unless the example has the mark, too
		found = slices.DeleteFunc(found, func(of matcher.Candidate) bool {
			return !slices.ContainsFunc(of.Tool.Spoken(), func(own string) bool { return strings.HasSuffix(own, "?") && text.Key(own) == key })
		})
	}
	if len(found) != 1 || found[0].Tool.Params().Infers() {
		return matcher.Result{}, false
	}
	reading := found[0].Tool.Params().Read(nil)
	if len(reading.Errors) > 0 {
		return matcher.Result{}, false
	}
	return matcher.Result{Stage: matcher.StageExact, Matches: []matcher.Match{{Candidate: found[0], Values: reading.Values}}}, true
}

// spelled lists the candidates with a text equal to the message. It looks up shared tools, and iterates over the
// others.
func spelled(request matcher.Request, key string) []matcher.Candidate {
	var found []matcher.Candidate
	own := request.Candidates
	if request.Shared != nil {
		own = request.Own
		for _, tool := range matcher.Kept(request.Shared, spellingsOf)[maphash.String(seed, key)] {
			place, in := request.InScope(request.Shared.Tools[tool])
			if in && spelledAs(key, request.Candidates[place].Tool) {
				found = append(found, request.Candidates[place])
			}
		}
	}
	for i := range own {
		if spelledAs(key, own[i].Tool) {
			found = append(found, own[i])
		}
	}
	return found
}

// spellings are the tools by the hashes of the keys of their texts.
type spellings map[uint64][]int32

var seed = maphash.MakeSeed()

func spellingsOf(tools []matcher.Candidate) spellings {
	s := spellings{}
	for i, candidate := range tools {
		for _, own := range texts(candidate.Tool) {
			key := maphash.String(seed, text.Key(own))
			if known := s[key]; len(known) == 0 || known[len(known)-1] != int32(i) {
				s[key] = append(known, int32(i))
			}
		}
	}
	return s
}

// texts lists the possible texts of the tool's button.
func texts(tool *repositories.Tool) []string {
	return append([]string{tool.Name, text.Identifier(tool.Name), tool.Description}, tool.Spoken()...)
}

// spelledAs reports whether said is the key of one of the tool's own texts. It compares the first letter before the
// key, because a message is compared with every text in scope and nearly all differ there.
func spelledAs(key string, tool *repositories.Tool) bool {
	return slices.ContainsFunc(texts(tool), func(own string) bool {
		at := strings.IndexFunc(own, func(r rune) bool { return r >= utf8.RuneSelf || text.InWord(r) })
		if at < 0 {
			return false
		}
		first := rune(own[at])
		return (first >= utf8.RuneSelf || unicode.ToLower(first) == rune(key[0])) && text.Key(own) == key
	})
}
