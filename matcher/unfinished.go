package matcher

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"earshot/matcher/text"
	"earshot/repositories/parameters"
)

// Unfinished is a call that an earlier message began and that lacks a value. The values of the next message are
// merged into the known ones, and the call is made when it is complete.
type Unfinished struct {
	Candidate
	Values  map[string]any // the valid values from earlier messages
	Missing []string       // names the parameters without a value
	Denied  []string       // those of them whose value the message takes back
}

// Continued returns the index of the unfinished call that a call of a tool continues: of several of the tool, the first
// whose values the call does not change, else the first. It returns -1 for none.
func Continued(list []Unfinished, repositoryID, name string, values map[string]any) int {
	first := -1
	for i, u := range list {
		if u.Repository.ID != repositoryID || u.Tool.Name != name {
			continue
		}
		changes := false
		for parameter, known := range u.Values {
			value := values[parameter]
			changes = changes || value != nil && fmt.Sprint(value) != fmt.Sprint(known)
		}
		if !changes {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

// Complete merges the arguments of a call into the values of an unfinished call of the same tool. A repeated value
// is a correction. Null removes a value if it is required or the message denies something; else it is ignored,
// because many models write null for optional values that a message does not repeat.
func (r Request) Complete(c Candidate, arguments map[string]any) map[string]any {
	at := Continued(r.Unfinished, c.Repository.ID, c.Tool.Name, arguments)
	if at < 0 {
		return arguments
	}
	begun := r.Unfinished[at]
	whole := maps.Clone(begun.Values)
	if whole == nil {
		whole = map[string]any{}
	}
	required := func(name string) bool {
		return slices.ContainsFunc(begun.Tool.Params().List(), func(p parameters.Parameter) bool { return p.Name == name && p.Required })
	}
	for name, value := range arguments {
		switch {
		case value != nil:
			whole[name] = value
		case required(name) || text.HasDenial(r.Text):
			delete(whole, name)
		}
	}
	return whole
}

// Without returns the call without the values that a text denies, such as "not the office": they are missing again.
func (u Unfinished) Without(said string) Unfinished {
	t := text.Of(said)
	left := Unfinished{Candidate: u.Candidate, Values: maps.Clone(u.Values), Missing: slices.Clone(u.Missing)}
	for _, parameter := range u.Tool.Params().List() {
		value, known := u.Values[parameter.Name]
		denied := func(form string) bool { return t.DeniesWords(text.Split(form)) }
		if !known || parameter.Hidden || !slices.ContainsFunc(forms(parameter, value), denied) {
			continue
		}
		delete(left.Values, parameter.Name)
		left.Denied = append(left.Denied, parameter.Name)
		if parameter.Required {
			left.Missing = append(left.Missing, parameter.Name)
		}
	}
	return left
}

// Survives reports whether the call is kept after a text without a match. A text that denies or corrects something
// unknown may mean one of its values in another language. Then the call is dropped, because a fresh start is better
// than a call with a denied value. So is one that a plain no answers, or whose act is forbidden: "please don't cancel it".
func (u Unfinished) Survives(said string) bool {
	if _, no := text.Consents(said); no || u.forbidden(said) {
		return false
	}
	return !Abandons(said) && (len(u.Values) == 0 || len(u.Without(said).Values) < len(u.Values) || text.Idles(text.Of(said)) || !text.Denies(said) && !text.Corrects(said))
}

// forbidden reports whether a text denies the tool's act, by a verb of its name or its examples. A word that begins those, and
// is no plain verb, must follow the negation: "don't block it", but not "I don't have the order number".
func (u Unfinished) forbidden(said string) bool {
	if !text.HasDenial(said) {
		return false
	}
	t := text.Of(said)
	var verbs, leading []text.Word
	for _, phrase := range append(u.Tool.Spoken(), text.Identifier(u.Tool.Name)) {
		of := text.Of(phrase)
		if first := of.At(of.Opening()); first.IsSubject() {
			leading = append(leading, first)
		}
		verbs = append(verbs, slices.DeleteFunc(of.Words, func(w text.Word) bool { return !text.ActingOf([]text.Word{w}).Plain })...)
	}
	return t.DeniesAct(func(i int) bool {
		same := func(w text.Word) bool { return w.Stem == t.Words[i].Stem || text.SameVerb(w.Norm, t.Norm(i)) }
		return slices.ContainsFunc(verbs, same) || t.At(i-1).Is(text.Negations) && slices.ContainsFunc(leading, same)
	})
}

// forms lists the texts of a value: as is, its aliases, and each member of a list.
func forms(parameter parameters.Parameter, value any) []string {
	var said []string
	for _, alias := range parameter.Aliases {
		if alias.Value == value {
			said = append(said, alias.Words)
		}
	}
	switch value := value.(type) {
	case string:
		said = append(said, value, text.Identifier(value))
	case json.Number:
		said = append(said, value.String())
	case []any:
		inner := parameters.Parameter{}
		if parameter.Items != nil {
			inner = *parameter.Items
		}
		for _, one := range value {
			said = append(said, forms(inner, one)...)
		}
	}
	return said
}
