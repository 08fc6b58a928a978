// Package provider is what all LLM providers have in common: the neutral form of a request
// and of an answer, and the HTTP transport.
package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"earshot/repositories/secret"
)

// Client is an LLM with tool calling, whoever provides it. Complete sends one request and
// does not ask again because it dislikes an answer. Its error is a *matcher.Unavailable, or
// the context's.
type Client interface {
	Complete(ctx context.Context, request Request) (Completion, error)
}

// Role is the author of a message.
type Role string

// Roles of a conversation.
const (
	System     Role = "system"
	User       Role = "user"
	Assistant  Role = "assistant"
	ToolResult Role = "tool" // the result of a call
)

// Request is a request to a model in a neutral form, which each provider translates into
// its own.
type Request struct {
	Model    string
	Messages []Message
	// Tools may be called, any number of them; without any the model can only answer with
	// text.
	Tools []*Tool
}

// Message is one message of the conversation as the model sees it.
type Message struct {
	Role  Role
	Text  string
	Calls []Call // of the assistant
	// CallID is the call that a message of role ToolResult answers; Failed says that the
	// call failed.
	CallID string
	Failed bool
}

// Tool is a tool that is offered to the model. Its name and the names of its top-level
// properties are valid for every provider. A tool is made once
// for many requests and never changed.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
	// SessionScoped is true for a session's own tool, which other sessions do not offer.
	SessionScoped bool

	written sync.Map // form → json.RawMessage
}

// Written returns the tool as JSON, which is written for the first request alone. A form,
// of which there are to be few, names all that the writing depends on beside the tool.
func (t *Tool) Written(form string, write func(*Tool) any) json.RawMessage {
	if known, is := t.written.Load(form); is {
		return known.(json.RawMessage)
	}
	text, _ := json.Marshal(write(t)) // our own schema and texts
	known, _ := t.written.LoadOrStore(form, json.RawMessage(text))
	return known.(json.RawMessage)
}

// Call is a tool call as the model wrote it: Arguments should be a JSON object.
type Call struct {
	ID        string
	Name      string
	Arguments string
	// Echo is opaque data that the provider sent with the call and wants back unchanged.
	Echo string
}

// Completion is the model's answer to a Request.
type Completion struct {
	Text  string
	Calls []Call
	Usage Usage
}

// Usage counts the tokens of one request, as far as the provider reports them.
type Usage struct {
	Prompt     int // all of the request
	Cached     int // of Prompt, those that came cheaper out of the provider's cache
	Completion int
}

// Config is the configuration of one LLM provider that is reached through its own API. The
// zero value is a provider that is not configured.
type Config struct {
	Key secret.Secret
	// BaseURL is where the provider is; empty is its own address. The version of the
	// API may stand at its end or be left out.
	BaseURL string
	// Model is asked where the app's settings name none; empty is a small, quick one.
	Model string
}

// Configured reports whether there is a key or an endpoint.
func (p Config) Configured() bool { return !p.Key.Empty() || p.BaseURL != "" }

// WithDefaults fills in what was left out of a provider that is configured.
func (p Config) WithDefaults(baseURL, model string) Config {
	if p.Configured() {
		p.BaseURL, p.Model = cmp.Or(p.BaseURL, baseURL), cmp.Or(p.Model, model)
	}
	return p
}

var (
	versioned = regexp.MustCompile(`/(v[0-9]+[a-z0-9]*)/?$`)

	// ErrBaseURL means that a base URL is invalid. It does not show the URL, which may
	// carry credentials.
	ErrBaseURL = errors.New("its base URL cannot be read: give it as in https://api.example.com")
)

// Endpoint splits a base URL into the URL proper and the version at its end.
func Endpoint(baseURL string) (base *url.URL, version string, err error) {
	base, err = url.Parse(baseURL)
	if err != nil || base.Host == "" {
		return nil, "", ErrBaseURL // without the URL: it may carry credentials
	}
	if found := versioned.FindStringSubmatch(base.Path); found != nil {
		base.Path, version = strings.TrimSuffix(base.Path, found[0]), found[1]
	}
	base.RawPath = ""
	return base, version, nil
}

// Network holds what all providers send requests with: the HTTP client, a time limit and
// the clock.
type Network struct {
	HTTPClient *http.Client
	// Timeout bounds what a request needs before it is sent, as a token.
	Timeout time.Duration
	// Now is the clock for Retry-After given as a date.
	Now func() time.Time
}

// Side is a run of messages by one of the two sides of a conversation, until the other
// speaks. Providers other than OpenAI have the user and the model alternate, and the user
// begin.
type Side struct {
	Model    bool // it is the model's, else the user's
	Messages []Message
}

// noBeginning stands for what was said before the history begins, where it begins with the
// model: nothing, or what has been cut.
const noBeginning = "(The conversation begins here.)"

// Alternate splits a request's messages into the rules, which such providers take outside
// the conversation, and the sides of the conversation. Later words of the system and the
// results of tools are the user's side. Blank texts are left out, since some providers
// refuse them.
func Alternate(messages []Message) (rules string, parted []Side) {
	if len(messages) > 0 && messages[0].Role == System {
		rules, messages = messages[0].Text, messages[1:]
	}
	for _, one := range messages {
		if one.Role != ToolResult && len(one.Calls) == 0 && strings.TrimSpace(one.Text) == "" {
			continue
		}
		model := one.Role == Assistant
		if len(parted) == 0 && model {
			parted = append(parted, Side{Messages: []Message{{Role: User, Text: noBeginning}}})
		}
		if last := len(parted) - 1; last >= 0 && parted[last].Model == model {
			parted[last].Messages = append(parted[last].Messages, one)
			continue
		}
		parted = append(parted, Side{Model: model, Messages: []Message{one}})
	}
	return rules, parted
}

// CallsByID maps the ids of the messages' calls to the calls, and lists the names of their
// tools in order.
func CallsByID(messages []Message) (byID map[string]Call, names []string) {
	byID, seen := map[string]Call{}, map[string]bool{}
	for _, one := range messages {
		for _, call := range one.Calls {
			byID[call.ID] = call
			if !seen[call.Name] {
				names = append(names, call.Name)
			}
			seen[call.Name] = true
		}
	}
	return byID, names
}
