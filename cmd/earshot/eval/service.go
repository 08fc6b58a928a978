// Package eval holds the parts of earshot eval: a service that tests conversations by dry runs, recordings of
// models' answers, and reports for people and programs.
package eval

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"earshot/cmd/earshot/client"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/files"
	"earshot/trigger"
	"earshot/trigger/explain"
	"earshot/trigger/query"
	"earshot/trigger/trial"
)

// Service is the trial.Stage of a service. Each message is a dry run with the conversation before it, so that
// nothing is stored or fired. All tools of the app are in scope, whichever tools a test names.
type Service struct {
	Client *client.Client
	AppID  string                                           // the default app of tests; empty for the key's app
	Pause  func(ctx context.Context, d time.Duration) error // waits for the requested time, or until ctx ends
}

// Begin implements trial.Stage.
func (s *Service) Begin(test *files.Test) (trial.Conversation, error) {
	return &dryRunConversation{service: s, test: test, appID: test.AppID, session: "eval-" + rand.Text()}, nil
}

type dryRunConversation struct {
	service *Service
	test    *files.Test
	appID   string
	session string
	history []trigger.Earlier
}

func (a *dryRunConversation) AddMessage(added files.Message) {
	actor := matcher.ActorUser
	if added.Agent {
		actor = matcher.ActorAgent
	}
	a.history = append(a.history, trigger.Earlier{Actor: actor, Text: added.Text})
}

type dryRunAnswer struct {
	query.Answer
	Explain explain.Explanation `json:"explain"`
}

func (a *dryRunConversation) User(ctx context.Context, text string) (trial.MessageOutcome, error) {
	answer, err := a.dryRun(ctx, text)
	if err != nil {
		return trial.MessageOutcome{}, err
	}
	for i := range answer.Matches { // the next message sees it as done
		if answer.Matches[i].State == "dry" {
			answer.Matches[i].State = ""
		}
	}
	a.history = append(a.history, trigger.Earlier{Actor: matcher.ActorUser, Text: text, Matches: answer.Matches, Rejected: answer.Rejected})
	outcome := trial.NewMessageOutcome(answer.Explain.Why, answer.Matches, answer.Rejected)
	for _, candidate := range answer.Explain.Candidates {
		if candidate.Score != nil && len(outcome.Nearest) < trial.MostNearest {
			outcome.Nearest = append(outcome.Nearest, trial.NearTool{Name: candidate.Name, Score: *candidate.Score})
		}
	}
	return outcome, nil
}

// maxHistory is the most earlier messages of a dry run.
const maxHistory = 200

type message struct {
	Actor    string          `json:"actor"`
	Text     string          `json:"text"`
	Language string          `json:"language,omitempty"`
	TimeZone string          `json:"timeZone,omitempty"`
	Now      string          `json:"now,omitempty"`
	History  json.RawMessage `json:"history"`
}

// dryRun sends a dry run, and repeats it after a requested pause.
func (a *dryRunConversation) dryRun(ctx context.Context, text string) (result dryRunAnswer, err error) {
	if a.appID == "" {
		if a.appID, err = a.service.Client.App(ctx, a.service.AppID); err != nil {
			return result, err
		}
	}
	request := message{
		Actor: matcher.ActorUser, Text: text, Language: a.test.Language, TimeZone: a.test.TimeZone,
		History: exactjson.EncodeOrNull(append([]trigger.Earlier{}, a.history[max(0, len(a.history)-maxHistory):]...)),
	}
	if !a.test.Now.IsZero() {
		request.Now = a.test.Now.Format(time.RFC3339)
	}
	body, err := exactjson.Encode(request)
	if err != nil {
		return result, err
	}
	path := client.Path("apps", a.appID, "sessions", a.session, "messages") + "?dryRun=true&explain=true"
	for {
		answer, err := a.service.Client.Call(ctx, http.MethodPost, path, body)
		if refused := (*client.Refusal)(nil); errors.As(err, &refused) && refused.Status == http.StatusTooManyRequests {
			if err := a.service.Pause(ctx, max(time.Second, refused.RetryAfter)); err != nil {
				return result, err
			}
			continue
		}
		if err == nil {
			err = client.Decode(answer, &result)
		}
		return result, err
	}
}

// Repositories returns the repositories of the service's app.
func (s *Service) Repositories(ctx context.Context) ([]*repositories.Repository, error) {
	appID, err := s.Client.App(ctx, s.AppID)
	if err != nil {
		return nil, err
	}
	list, err := client.All[*repositories.Repository](ctx, s.Client, client.Path("apps", appID, "repositories"))
	if err != nil {
		return nil, err
	}
	for _, repository := range list {
		repository.AppID = appID
		if err := repository.Compile(); err != nil {
			return nil, fmt.Errorf("repository %s: %w", repository.ID, err)
		}
	}
	return list, nil
}
