package matcher

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Unfinished is a call that an earlier message began and that lacks a value. It is not
// lost: what the next message says is laid over what is known, and the call is made
// when it is complete.
type Unfinished struct {
	Candidate
	// Values are those that earlier messages gave and that are in order.
	Values map[string]any
	// Missing names the parameters that still lack a value.
	Missing []string
}

// unfinished returns the unfinished call of a tool.
func (r Request) unfinished(c Candidate) (Unfinished, bool) {
	at := slices.IndexFunc(r.Unfinished, func(u Unfinished) bool { return u.Tool == c.Tool })
	if at < 0 {
		return Unfinished{}, false
	}
	return r.Unfinished[at], true
}

// completed lays the arguments of a call over the values of an unfinished one of the
// same tool. A value that is given again is a correction and replaces the old one.
func (r Request) completed(c Candidate, arguments map[string]any) map[string]any {
	begun, is := r.unfinished(c)
	if !is {
		return arguments
	}
	whole := maps.Clone(begun.Values)
	if whole == nil {
		whole = map[string]any{}
	}
	for name, value := range arguments {
		if value != nil {
			whole[name] = value
		}
	}
	return whole
}

// unfinishedText tells a model of the calls that wait for values.
func unfinishedText(request Request) string {
	var lines []string
	for _, u := range request.Unfinished {
		known, err := json.Marshal(u.Values)
		if err != nil {
			continue
		}
		lines = append(lines, fmt.Sprintf("Begun and not finished: %s with %s; still missing: %s. "+
			"If the last message says what is missing, or corrects a value, call it with what the message says; what is known is kept.",
			u.Tool.Name, known, strings.Join(u.Missing, ", ")))
	}
	return strings.Join(lines, "\n")
}

// abandoning are the ways to drop what was begun, as they stand in a text of their own.
// They are few, since a call that is kept in vain fires nothing by itself.
var abandoning = []string{
	"never mind", "nevermind", "forget it", "forget about it", "cancel", "cancel that", "cancel it", "drop it", "leave it", "no thanks",
	"no thank you", "not anymore", "stop", "scratch that",
	"vergiss es", "vergessen sie es", "egal", "abbrechen", "laisse tomber", "laissez tomber", "annule", "annuler",
	"lascia stare", "lascia perdere", "annulla", "olvidalo", "dejalo", "cancela",
}

// Abandons reports whether a text says that what was begun is not wanted any more.
func Abandons(text string) bool {
	var said []string
	for _, w := range split(text) {
		if !fillers[w.norm] {
			said = append(said, w.norm)
		}
	}
	whole := strings.Join(said, " ")
	return slices.ContainsFunc(abandoning, func(way string) bool {
		return whole == way || strings.HasPrefix(whole, way+" ") && len(said) <= 6
	})
}
