package eval

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"earshot/cmd/earshot/client"
	"earshot/matcher"
	"earshot/repositories/exactjson"
	"earshot/repositories/files"
	"earshot/trigger"
	"earshot/trigger/conversation"
	"earshot/trigger/explain"
	"earshot/trigger/query"
)

// Service is the Stage of a service: each message is a dry run that is told the conversation
// before it, so that nothing is stored or fired there. All tools of the app are in scope,
// whichever a test names.
type Service struct {
	Client *client.Client
	// AppID is the app of tests that name none; empty for that of the key.
	AppID string
	// Pause waits as long as the service asks for, or until ctx ends.
	Pause func(ctx context.Context, d time.Duration) error
}

// Begin implements Stage.
func (s *Service) Begin(test *files.Test) (Conversation, error) {
	return &asked{of: s, test: test, appID: test.AppID, session: "eval-" + rand.Text()}, nil
}

// asked is a conversation with a service.
type asked struct {
	of      *Service
	test    *files.Test
	appID   string
	session string
	history []trigger.Earlier
}

// Heard implements Conversation.
func (a *asked) Heard(said files.Said) {
	actor := matcher.ActorUser
	if said.Agent {
		actor = matcher.ActorAgent
	}
	a.history = append(a.history, trigger.Earlier{Actor: actor, Text: said.Text})
}

// tried is the answer to a dry run.
type tried struct {
	query.Answer
	Explain explain.Explanation `json:"explain"`
}

// User implements Conversation.
func (a *asked) User(ctx context.Context, text string) (Came, error) {
	found, err := a.ask(ctx, text)
	if err != nil {
		return Came{}, err
	}
	for i := range found.Matches { // what would be owed is done, as far as the next message knows
		if found.Matches[i].State == "dry" {
			found.Matches[i].State = ""
		}
	}
	a.history = append(a.history, trigger.Earlier{Actor: matcher.ActorUser, Text: text, Matches: found.Matches, Rejected: found.Rejected})
	came := Came{Why: found.Explain.Why}
	for _, match := range found.Matches {
		if match.State != query.StateDuplicate && match.State != query.StateCancelled {
			came.Calls = append(came.Calls, Call{match.Name, match.Values})
		}
	}
	for _, rejected := range found.Rejected {
		came.Rejected = append(came.Rejected, Rejected{rejected.Name, conversation.Faulty(rejected.Missing, rejected.Errors)})
	}
	for _, candidate := range found.Explain.Candidates {
		if candidate.Score != nil && len(came.Near) < nearest {
			came.Near = append(came.Near, Near{candidate.Name, *candidate.Score})
		}
	}
	return came, nil
}

// ask asks the service, again where it asks for a pause.
func (a *asked) ask(ctx context.Context, text string) (found tried, err error) {
	if a.appID == "" {
		if a.appID, err = a.of.Client.App(ctx, a.of.AppID); err != nil {
			return found, err
		}
	}
	body, err := exactjson.Encode(a.body(text))
	if err != nil {
		return found, err
	}
	at := client.Path("apps", a.appID, "sessions", a.session, "messages") + "?dryRun=true&explain=true"
	for {
		answer, err := a.of.Client.Call(ctx, http.MethodPost, at, body)
		if refused := (*client.Refusal)(nil); errors.As(err, &refused) && refused.Status == http.StatusTooManyRequests {
			if err := a.of.Pause(ctx, max(time.Second, refused.RetryAfter)); err != nil {
				return found, err
			}
			continue
		}
		if err != nil {
			return found, err
		}
		return found, client.Decode(answer, &found)
	}
}

// message is the body of a dry run.
type message struct {
	Actor    string          `json:"actor"`
	Text     string          `json:"text"`
	Language string          `json:"language,omitempty"`
	TimeZone string          `json:"timeZone,omitempty"`
	Now      string          `json:"now,omitempty"`
	History  json.RawMessage `json:"history"`
}

// mostTold is how many earlier messages a dry run may be told.
const mostTold = 200

func (a *asked) body(text string) message {
	history := slices.Clone(a.history[max(0, len(a.history)-mostTold):])
	said := message{
		Actor: matcher.ActorUser, Text: text, Language: a.test.Language, TimeZone: a.test.TimeZone,
		History: exactjson.EncodeOrNull(append([]trigger.Earlier{}, history...)),
	}
	if !a.test.Now.IsZero() {
		said.Now = a.test.Now.Format(time.RFC3339)
	}
	return said
}
