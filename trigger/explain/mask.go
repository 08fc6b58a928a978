package explain

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/lists"
	"earshot/repositories/secret"
)

// Shorter texts would match ordinary text. Hidden values of any length are masked under the names of their
// parameters.
const (
	minMasked = 4
	minDigits = 5 // of a number
)

// mask masks texts anywhere.
type mask []*strings.Replacer

func (m mask) text(s string) string {
	for _, hide := range m {
		s = hide.Replace(s)
	}
	return s
}

// evidence returns the evidence of values with its words masked.
func (m mask) evidence(found map[string]*matcher.Evidence) map[string]*matcher.Evidence {
	if len(m) == 0 {
		return found
	}
	masked := make(map[string]*matcher.Evidence, len(found))
	for parameter, one := range found {
		if one != nil {
			one = &matcher.Evidence{MessageID: one.MessageID, Words: m.text(one.Words)}
		}
		masked[parameter] = one
	}
	return masked
}

func (m mask) value(value any) any {
	switch value := value.(type) {
	case string:
		return m.text(value)
	case json.Number:
		if m.text(value.String()) != value.String() {
			return secret.Masked
		}
	case []any:
		return lists.Map(value, m.value)
	case map[string]any:
		masked := make(map[string]any, len(value))
		for name := range value {
			masked[m.text(name)] = m.value(value[name])
		}
		return masked
	}
	return value
}

type hiddenTexts []string

// replacer returns a mask of all texts, the longest first; nil for none.
func (h hiddenTexts) replacer() mask {
	if len(h) == 0 {
		return nil
	}
	slices.SortFunc(h, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(h))
	for _, text := range slices.Compact(h) {
		pairs = append(pairs, text, secret.Masked)
	}
	return mask{strings.NewReplacer(pairs...)}
}

// add adds a text plain, as in JSON, and as in JSON within JSON.
func (h *hiddenTexts) add(text string, least int) {
	for range 3 {
		if len(text) < least {
			return
		}
		*h = append(*h, text)
		quoted := string(exactjson.EncodeOrNull(text))
		if quoted = quoted[1 : len(quoted)-1]; quoted == text {
			return
		}
		text = quoted
	}
}

func (h *hiddenTexts) value(value any) {
	switch value := value.(type) {
	case string:
		h.add(value, minMasked)
	case json.Number:
		h.add(value.String(), minDigits)
	case []any:
		for _, one := range value {
			h.value(one)
		}
	case map[string]any:
		for _, one := range value {
			h.value(one)
		}
	}
}

func (h *hiddenTexts) credentials(list []repositories.Credential) {
	for _, one := range list {
		if text := one.Get().Reveal(); !one.Shown {
			h.add(text, minMasked)
		}
	}
}
