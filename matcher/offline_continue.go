package matcher

import (
	"slices"
	"strings"
)

// mostAnswerWords is how long a text may be that is taken as a whole for the one value
// that is missing.
const mostAnswerWords = 4

// continued finds the unfinished call that a text goes on with: it has one of the
// values that are missing, or it is short and can be nothing but the one that is.
func continued(request Request, words []word) (Unfinished, map[string]any) {
	if declines(words) {
		return Unfinished{}, nil
	}
	for _, begun := range request.Unfinished {
		values := valuesOf(request.Text, begun.Tool, request.Now)
		for _, name := range begun.Missing {
			if values[name] != nil {
				return begun, values
			}
		}
		if answers(begun, request.Text, words) {
			return begun, map[string]any{begun.Missing[0]: strings.TrimSpace(request.Text)}
		}
	}
	return Unfinished{}, nil
}

// answers reports whether the text as a whole is the value of the one parameter that
// is missing, a text of any kind: a few words that neither ask, wish, tell nor thank.
func answers(u Unfinished, text string, words []word) bool {
	if len(u.Missing) != 1 || len(words) == 0 || len(words) > mostAnswerWords || moodOf(text, words) != fragment || opening(words) < 0 {
		return false
	}
	return takesAnyText(u, u.Missing[0])
}

// declines reports whether a text thanks, parts or says no.
func declines(words []word) bool {
	return slices.ContainsFunc(words, func(w word) bool { return parting[w.norm] || negations[w.norm] })
}

func takesAnyText(u Unfinished, name string) bool {
	for _, parameter := range u.Tool.Params().List() {
		if parameter.Name == name {
			return parameter.Type == "string" && len(parameter.Allowed) == 0
		}
	}
	return false
}
