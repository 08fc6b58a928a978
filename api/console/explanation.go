package console

import (
	"encoding/json"
	"errors"
	"net/http"

	"earshot/matcher"
	"earshot/repositories/parameters"
	"earshot/trigger"
)

// explanation is why a message came out as it did, as REST has it.
type explanation struct {
	Stage      string         `json:"stage"`
	Why        string         `json:"why"`
	Candidates []candidate    `json:"candidates"`
	More       int            `json:"moreCandidates"`
	NotInScope []barred       `json:"notInScope"`
	Requests   []modelRequest `json:"requests"`
	Calls      []foundCall    `json:"calls"`
	Cut        []string       `json:"cut"`
}

// candidate is a tool in scope, barred one that was not.
type (
	candidate struct {
		RepositoryID string   `json:"repositoryId"`
		Session      bool     `json:"session"`
		Name         string   `json:"name"`
		Score        *float64 `json:"score"`
		Cut          bool     `json:"cut"`
		Why          string   `json:"why"`
	}
	barred struct {
		RepositoryID string `json:"repositoryId"`
		Session      bool   `json:"session"`
		Name         string `json:"name"`
		Reason       string `json:"reason"`
		Why          string `json:"why"`
	}
)

// modelRequest is one request to a model with its answer.
type modelRequest struct {
	Model    string          `json:"model"`
	Request  json.RawMessage `json:"request"`
	LeftOut  []string        `json:"leftOut"`
	Response json.RawMessage `json:"response"`
	Error    string          `json:"error"`
	Millis   int64           `json:"ms"`
	Tokens   struct {
		Prompt     int `json:"prompt"`
		Cached     int `json:"cached"`
		Completion int `json:"completion"`
	} `json:"tokens"`
}

// foundCall is a call that was found for the message, and what became of it.
type foundCall struct {
	RepositoryID string                       `json:"repositoryId"`
	Name         string                       `json:"name"`
	Arguments    json.RawMessage              `json:"arguments"`
	Round        int                          `json:"round"`
	Repaired     bool                         `json:"repaired"`
	Coerced      []string                     `json:"coerced"`
	Ignored      []string                     `json:"ignored"`
	Errors       []parameters.ValueFault      `json:"errors"`
	Evidence     map[string]*matcher.Evidence `json:"evidence"`
	Verdict      string                       `json:"verdict"`
	Why          string                       `json:"why"`
	TriggerID    string                       `json:"triggerId"`
}

// explanation reads why a message came out as it did; where there is none, it says why.
func (v *visit) explanation(session string, of trigger.Entry) (*explanation, string, error) {
	if of.Actor != matcher.ActorUser {
		return nil, "What an agent says is kept in the history and matched against nothing.", nil
	}
	explained := &explanation{}
	err := v.get(v1("apps", v.app(), "sessions", session, "messages", of.MessageID, "explain"), explained)
	var found *problem
	switch {
	case err == nil:
		return explained, "", nil
	case errors.As(err, &found) && found.Status == http.StatusNotFound:
		return nil, "Nothing explains this message any more: explanations are kept for a day unless EARSHOT_EXPLAIN_RETENTION says otherwise. Run it again to see what would come of it today.", nil
	case errors.As(err, &found) && (found.Status == http.StatusForbidden || found.Status == http.StatusConflict):
		return nil, found.Detail, nil
	}
	return nil, "", err
}
