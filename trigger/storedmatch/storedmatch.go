// Package storedmatch is what a message was matched to, as it is kept until the message is decided:
// with references to tools in place of the tools, so that any replica can go on from it, and
// notices where a tool is not what it was.
package storedmatch

import (
	"crypto/sha256"
	"encoding/hex"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
)

// Basis is what a match rests on: hashes of all that was in scope, and of what was verified
// of the user; and the language and time zone that "tomorrow" was understood in.
type Basis struct {
	Scope, Claims string
	Locale        string `json:",omitempty"`
}

// Match is a matcher.Result as it is kept.
type Match struct {
	Basis
	Stage    string `json:"stage"`
	Text     string `json:"text,omitempty"`
	Matches  []call `json:"matches,omitempty"`
	Rejected []call `json:"rejected,omitempty"`
}

// call is a matcher.Match or matcher.Rejected.
type call struct {
	Tool     reference                    `json:"tool"`
	Values   map[string]any               `json:"values"`
	Repaired bool                         `json:"repaired,omitempty"`
	Coerced  []string                     `json:"coerced,omitempty"`
	Evidence map[string]*matcher.Evidence `json:"evidence,omitempty"`
	Missing  []string                     `json:"missing,omitempty"`
	Errors   []parameters.ValueFault      `json:"errors,omitempty"`
	Call     int                          `json:"call"`
}

// reference names a tool, and what it was.
type reference struct {
	RepositoryID string `json:"repositoryId"`
	SessionID    string `json:"sessionId,omitempty"` // of the repository
	Generation   string `json:"generation"`
	Name         string `json:"name"`
	// Hash is one of the tool's definition and of its repository's options. Credentials do
	// not count.
	Hash string `json:"hash"`
}

// Pack returns what is kept of a result.
func Pack(basis Basis, result matcher.Result) (string, error) {
	m := Match{Basis: basis, Stage: result.Stage, Text: result.Text}
	for _, found := range result.Matches {
		of, err := refer(found.Candidate)
		if err != nil {
			return "", err
		}
		m.Matches = append(m.Matches, call{
			Tool: of, Values: found.Values, Repaired: found.Repaired, Coerced: found.Coerced, Evidence: found.Evidence, Call: found.Call,
		})
	}
	for _, found := range result.Rejected {
		of, err := refer(found.Candidate)
		if err != nil {
			return "", err
		}
		m.Rejected = append(m.Rejected, call{Tool: of, Values: found.Values, Missing: found.Missing, Errors: found.Errors, Call: found.Call})
	}
	text, err := exactjson.Encode(m)
	return string(text), err
}

// Read reads what was kept.
func Read(text string) (Match, error) {
	var m Match
	err := exactjson.Unmarshal([]byte(text), &m)
	return m, err
}

// Result returns the result in a scope, whose candidates are those of the request. It is
// false where it does not hold any more: the user is another or elsewhere, one of the tools is gone,
// changed or hidden, or the scope is another one and nothing was called for, as a new tool
// may be now.
func (m Match) Result(basis Basis, request matcher.Request) (matcher.Result, bool) {
	result := matcher.Result{Stage: m.Stage, Text: m.Text}
	if m.Claims != basis.Claims || m.Locale != basis.Locale || m.Scope != basis.Scope && len(m.Matches)+len(m.Rejected) == 0 {
		return result, false
	}
	for _, one := range m.Matches {
		c, is := one.Tool.in(request, m.Scope == basis.Scope)
		if !is {
			return result, false
		}
		result.Matches = append(result.Matches, matcher.Match{
			Candidate: c, Values: one.Values, Repaired: one.Repaired, Coerced: one.Coerced, Evidence: one.Evidence, Call: one.Call,
		})
	}
	for _, one := range m.Rejected {
		c, is := one.Tool.in(request, m.Scope == basis.Scope)
		if !is {
			return result, false
		}
		result.Rejected = append(result.Rejected, matcher.Rejected{Candidate: c, Values: one.Values, Missing: one.Missing, Errors: one.Errors, Call: one.Call})
	}
	return result, true
}

// in finds the tool among the candidates. In the same scope it is what it was.
func (r reference) in(request matcher.Request, same bool) (matcher.Candidate, bool) {
	c, found := request.Named(r.Name)
	if !found || c.Repository.ID != r.RepositoryID || c.Repository.SessionID != r.SessionID || c.Repository.Generation != r.Generation {
		return c, false
	}
	if same {
		return c, true
	}
	now, err := refer(c)
	return c, err == nil && now == r
}

func refer(c matcher.Candidate) (reference, error) {
	text, err := exactjson.Encode(struct {
		Options repositories.Options
		Tool    *repositories.Tool
	}{c.Repository.Options, c.Tool})
	sum := sha256.Sum256(text)
	return reference{c.Repository.ID, c.Repository.SessionID, c.Repository.Generation, c.Tool.Name, hex.EncodeToString(sum[:16])}, err
}
