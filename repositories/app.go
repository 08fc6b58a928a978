package repositories

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/secret"
)

// definition.schema.json documents the fields of the structs in this package.

// App is a tenant: it owns modules, authentication services, sources, settings and repositories.
type App struct {
	ID            string        `json:"appId"`
	Name          string        `json:"name,omitempty"`
	Modules       []Module      `json:"modules,omitempty"`
	AuthServices  []AuthService `json:"authServices,omitempty"`
	Sources       []Source      `json:"sources,omitempty"`
	Settings      Settings      `json:"settings"`
	SigningSecret secret.Secret `json:"signingSecret,omitzero"`

	Revision string `json:"-"` // random for each write; empty for an app that is not stored
}

// Module is an OAuth2 client of the app. Calls with auth "module" carry its token; SERMAS clients sign in with it.
type Module struct {
	ID       string        `json:"moduleId"`
	Secret   secret.Secret `json:"secret"`
	ClientID string        `json:"clientId,omitempty"`
	TokenURL string        `json:"tokenUrl,omitempty"`
	Audience string        `json:"audience,omitempty"`
	Scopes   []string      `json:"scopes,omitempty"`
	Hosts    []string      `json:"hosts,omitempty"`
}

// Module returns the app's module with an id, and whether it exists.
func (a *App) Module(id string) (Module, bool) {
	return lists.First(a.Modules, func(m Module) bool { return m.ID == id })
}

// OAuthClient returns the client id for the module's token request.
func (m Module) OAuthClient() string { return cmp.Or(m.ClientID, m.ID) }

// minSecret is the minimum length of a module's secret, in characters, for clients to sign in with it.
const minSecret = 16

// fewDistinct is how many distinct characters a text from a held key has at most.
const fewDistinct = 3

// Guessable returns why clients may not sign in with the module's secret; empty if they may, or if the secret is
// missing or masked.
func (m Module) Guessable() string {
	text := []rune(m.Secret.Reveal())
	different := slices.Compact(slices.Sorted(slices.Values(text)))
	switch {
	case len(text) == 0 || m.Secret.IsMasked():
		return ""
	case len(text) < minSecret:
		return fmt.Sprintf("is too short to sign in with: at least %d characters", minSecret)
	case len(different) <= fewDistinct:
		return fmt.Sprintf("is too easily guessed to sign in with: at least %d characters, more than %d of them different", minSecret, fewDistinct)
	}
	return ""
}

// AuthService configures the verification of ID tokens of the app's users.
type AuthService struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // google or oidc
	ClientID string `json:"clientId,omitempty"`
	Issuer   string `json:"issuer,omitempty"`
	Audience string `json:"audience,omitempty"`
	// Agents is the origin where agents may use access tokens of the issuer; empty for none.
	Agents string `json:"agents,omitempty"`
}

// Settings are an app's choices; the zero value holds the defaults.
type Settings struct {
	ChatModeEnabled  bool      `json:"chatModeEnabled"`
	SkipToolResponse bool      `json:"skipToolResponse"`
	ChatEvents       bool      `json:"chatEvents,omitempty"`
	Language         string    `json:"language,omitempty"`
	TimeZone         string    `json:"timeZone,omitempty"`
	Prompt           Prompt    `json:"prompt,omitzero"`
	LLM              LLM       `json:"llm,omitzero"`
	Offline          Offline   `json:"offline,omitzero"`
	AllowedOrigins   []string  `json:"allowedOrigins,omitempty"`
	Limits           Limits    `json:"limits,omitzero"`
	OpenAI           OpenAI    `json:"openai,omitzero"`
	Webhooks         []Webhook `json:"webhooks,omitempty"`
}

// ChatAct is the mode of chats in which the model is offered the tools in scope and calls them. In the other mode,
// watch, chats are relayed unchanged, and matched as well.
const ChatAct = "act"

// OpenAI configures an app's chats with a model behind this service.
type OpenAI struct {
	Mode   string      `json:"mode,omitempty"` // empty is watch
	Limits ModelLimits `json:"limits,omitzero"`
}

// ModelLimits limit the requests of an app's clients to the model behind this service.
type ModelLimits struct {
	RequestsPerMinute Limit    `json:"requestsPerMinute,omitzero"`
	Models            []string `json:"models,omitempty"`
	MaxTokens         int      `json:"maxTokens,omitempty"` // 0 leaves it to the model
}

// Allows reports whether a model may be asked.
func (l ModelLimits) Allows(model string) bool {
	return len(l.Models) == 0 || slices.ContainsFunc(l.Models, func(allowed string) bool {
		begin, any := strings.CutSuffix(allowed, "*")
		return allowed == model || any && strings.HasPrefix(model, begin)
	})
}

// Prompt is an app's own text for the LLM.
type Prompt struct {
	Text string `json:"text,omitempty"`
}

// Values of LLM.When.
const (
	LLMAlways = "always" // for every message that is not exactly a button's text
	LLMUnsure = "unsure" // if the words alone leave a doubt
)

// LLM configures which model is asked, when, and how many tools it sees.
type LLM struct {
	Tools     string `json:"tools,omitempty"`
	When      string `json:"when,omitempty"`      // empty is LLMAlways
	MostTools int    `json:"mostTools,omitempty"` // 0 leaves it to the service
}

// Values of Offline.Bar: the confidence that a match needs if no model decides.
const (
	BarCertain = "certain" // a wrong tool is worse than none
	BarLikely  = "likely"  // more messages fire, also more wrong tools
)

// Offline configures the matching without a model.
type Offline struct {
	Bar     string `json:"bar,omitempty"`     // empty is BarCertain
	Confirm string `json:"confirm,omitempty"` // ConfirmIrreversible or ConfirmAlways; empty is ConfirmNever
}

// Limits are the rate limits and quotas of an app. Zero fields have the defaults.
type Limits struct {
	MessagesPerMinute        Limit `json:"messagesPerMinute,omitzero"`
	SessionMessagesPerMinute Limit `json:"sessionMessagesPerMinute,omitzero"`
	TriggersPerMinute        Limit `json:"triggersPerMinute,omitzero"`
	SessionTriggersPerMinute Limit `json:"sessionTriggersPerMinute,omitzero"`
	SessionDraftsPerMinute   Limit `json:"sessionDraftsPerMinute,omitzero"`
	BytesPerMinute           Limit `json:"bytesPerMinute,omitzero"` // of one session
	ToolsPerRepository       Limit `json:"toolsPerRepository,omitzero"`
	RepositoriesPerSession   Limit `json:"repositoriesPerSession,omitzero"`

	Off bool `json:"-"` // removes all limits: the app's limits are null
}

// Limit is a maximum: 0 for the default, or noLimit.
type Limit int

// noLimit is a limit that the app removed: null, or 0, in JSON.
const noLimit Limit = -1

// Default rates: generous for people, low for a flood.
const (
	defaultMessages        = 12_000
	defaultSessionMessages = 120
	defaultTriggers        = 12_000
	defaultSessionTriggers = 120
	defaultSessionDrafts   = 600
	defaultBytes           = 4_000_000
	sessionsInFull         = 100 // how many sessions may use their full byte rate at once
)

// UnmarshalJSON reads null and 0 as noLimit.
func (l *Limit) UnmarshalJSON(text []byte) error {
	most := 0
	if err := json.Unmarshal(text, &most); err != nil {
		return err
	}
	if *l = Limit(most); most == 0 {
		*l = noLimit
	}
	return nil
}

// MarshalJSON writes noLimit as null.
func (l Limit) MarshalJSON() ([]byte, error) {
	if l == noLimit {
		return []byte("null"), nil
	}
	return json.Marshal(int(l))
}

type plainLimits Limits

// UnmarshalJSON reads null as Off.
func (l *Limits) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		*l = Limits{Off: true}
		return nil
	}
	return json.Unmarshal(text, (*plainLimits)(l))
}

// MarshalJSON writes Off as null.
func (l Limits) MarshalJSON() ([]byte, error) {
	if l.Off {
		return []byte("null"), nil
	}
	return json.Marshal(plainLimits(l))
}

// most returns the value of a limit; 0 for no limit.
func (l Limits) most(limit Limit, fallback int) int {
	switch {
	case l.Off || limit == noLimit:
		return 0
	case limit == 0:
		return fallback
	}
	return int(limit)
}

// Rates returns all limits per minute in the order that the scripts read: messages of the app and of a session,
// triggers of both, bytes of both, drafts of a session, requests to a model. 0 is no limit.
func (s Settings) Rates() string {
	l := s.Limits
	stored := l.most(l.BytesPerMinute, defaultBytes)
	return fmt.Sprint(l.most(l.MessagesPerMinute, defaultMessages), l.most(l.SessionMessagesPerMinute, defaultSessionMessages),
		l.most(l.TriggersPerMinute, defaultTriggers), l.most(l.SessionTriggersPerMinute, defaultSessionTriggers),
		sessionsInFull*stored, stored, l.most(l.SessionDraftsPerMinute, defaultSessionDrafts),
		Limits{}.most(s.OpenAI.Limits.RequestsPerMinute, 0))
}

// ErrFull means that an app has reached the maximum number of something.
var ErrFull = errors.New("there is no room")

// LimitError means that a write would exceed a count that the app's settings limit.
type LimitError struct {
	Limit string // its name in settings.limits
	Most  int
	Fixed bool // no setting raises it
}

// Error names the limit and its number.
func (e *LimitError) Error() string {
	if e.Fixed {
		return fmt.Sprintf("%s are limited to %d: remove what is not needed", e.Limit, e.Most)
	}
	return fmt.Sprintf("%s is limited to %d: remove what is not needed, or raise settings.limits.%[1]s of the app", e.Limit, e.Most)
}

// CheckTools checks the number of tools. A stored repository over a lowered limit stays until its next write.
func (l Limits) CheckTools(r *Repository) error {
	if most := l.MostTools(); most > 0 && len(r.Tools) > most {
		return &LimitError{Limit: "toolsPerRepository", Most: most}
	}
	return nil
}

// MostTools is the limit of tools in a repository; 0 for no limit.
func (l Limits) MostTools() int { return l.most(l.ToolsPerRepository, 0) }

// Repositories is the limit of repositories in a scope; 0 for no limit. Only sessions are limited.
func (l Limits) Repositories(scope Scope) int {
	if scope.SessionID == "" {
		return 0
	}
	return l.most(l.RepositoriesPerSession, 0)
}

// Webhook is a URL of the app that receives its events.
type Webhook struct {
	Name   string        `json:"name"`
	URL    string        `json:"url"`
	Types  []string      `json:"types,omitempty"` // first two tokens of the events' subjects; empty is all
	Secret secret.Secret `json:"secret,omitzero"` // signing secret; empty is the app's signingSecret
	State  string        `json:"state,omitempty"` // empty is WebhookEnabled
}

// States of a webhook, set by its app.
const (
	WebhookEnabled  = "enabled"
	WebhookDisabled = "disabled"
)

// Takes reports whether events of a type are sent to the webhook.
func (w Webhook) Takes(kind string) bool { return len(w.Types) == 0 || slices.Contains(w.Types, kind) }

// Enabled reports whether the app wants events to be sent.
func (w Webhook) Enabled() bool { return w.State != WebhookDisabled }

// Webhook returns the app's webhook with a name, and whether it exists. Its Secret is the one that signs.
func (a *App) Webhook(name string) (Webhook, bool) {
	found, ok := lists.First(a.Settings.Webhooks, func(w Webhook) bool { return w.Name == name })
	if ok && found.Secret.Empty() {
		found.Secret = a.SigningSecret
	}
	return found, ok
}

// webhooks checks rules beyond the schema: names are unique, and every webhook has a secret.
func (d *decoding) webhooks(app *App) {
	seen := map[string]int{}
	for i, webhook := range app.Settings.Webhooks {
		d.unique(seen, webhook.Name, i, webhookPoint(i, "name"), "%q is the name of webhook %d as well")
		if cmp.Or(webhook.Secret, app.SigningSecret).Empty() {
			d.Miss(webhookPoint(i, "secret"), ", as the app has no signingSecret: a receiver could not tell our requests from others; make one with: echo whsec_$(openssl rand -base64 32)")
		}
	}
}

func webhookPoint(i int, field string) string { return fault.Point("settings", "webhooks", i, field) }
