package repositories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"earshot/repositories/secret"
)

// App is a tenant: it owns modules, authentication services, sources,
// settings and app-scoped repositories.
type App struct {
	ID            string        `json:"appId"`
	Name          string        `json:"name,omitempty"`
	Modules       []Module      `json:"modules,omitempty"`
	AuthServices  []AuthService `json:"authServices,omitempty"`
	Sources       []Source      `json:"sources,omitempty"`
	Settings      Settings      `json:"settings"`
	SigningSecret secret.Secret `json:"signingSecret,omitzero"`

	// Revision is random for each write; empty for an app that is not stored.
	Revision string `json:"-"`
}

// Module is an OAuth2 client of the app; the calls of a tool with auth "module"
// carry its token, and clients of SERMAS sign in by it.
type Module struct {
	ID       string        `json:"moduleId"`
	Secret   secret.Secret `json:"secret"`
	ClientID string        `json:"clientId,omitempty"` // the moduleId where it is missing
	TokenURL string        `json:"tokenUrl,omitempty"` // none of a module by which clients of SERMAS sign in alone
	Audience string        `json:"audience,omitempty"`
	Scopes   []string      `json:"scopes,omitempty"`
	// Hosts are the hosts, besides that of TokenURL, to which the module's token may be
	// sent by tools that were written by somebody who may not change the app.
	Hosts []string `json:"hosts,omitempty"`
}

// AuthService says how ID tokens of the app's users are verified.
type AuthService struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // google or oidc
	ClientID string `json:"clientId,omitempty"`
	Issuer   string `json:"issuer,omitempty"`
	Audience string `json:"audience,omitempty"`
}

// Settings are an app's choices about matching, replies and limits. The zero value holds
// the defaults.
type Settings struct {
	// ChatModeEnabled asks for a reply of the LLM to every message.
	ChatModeEnabled bool `json:"chatModeEnabled"`
	// SkipToolResponse suppresses the reply after a match.
	SkipToolResponse bool `json:"skipToolResponse"`
	// ChatEvents makes an event of every message that is stored, and of every reply.
	ChatEvents bool `json:"chatEvents,omitempty"`
	// Language (BCP 47) and TimeZone (IANA) are those of users of whom nothing nearer is said.
	Language string `json:"language,omitempty"`
	TimeZone string `json:"timeZone,omitempty"`
	// Prompt is added to what the LLM is told.
	Prompt Prompt `json:"prompt,omitzero"`
	// LLM chooses models by purpose.
	LLM LLM `json:"llm,omitzero"`
	// Offline says how sure the words have to be where no model decides, and what asks first.
	Offline Offline `json:"offline,omitzero"`
	// AllowedOrigins lists the origins whose pages may call from a browser.
	AllowedOrigins []string `json:"allowedOrigins,omitempty"`
	// Limits bound what the app's users may do.
	Limits Limits `json:"limits,omitzero"`
	// OpenAI says what is done with the chats of clients whose model is behind this service.
	OpenAI OpenAI `json:"openai,omitzero"`
}

// What is done with the chats of clients whose model is behind this service.
const (
	ChatWatch = "watch" // they are relayed as they are, and matched beside
	ChatAct   = "act"   // the model is offered the tools in scope, and calls them
)

// OpenAI are an app's choices about its chats with a model behind this service.
type OpenAI struct {
	// Mode is ChatWatch or ChatAct; empty is the first.
	Mode string `json:"mode,omitempty"`
	// Limits bound what is relayed to the model, at the operator's cost.
	Limits ModelLimits `json:"limits,omitzero"`
}

// ModelLimits bound what an app's clients ask of the model behind this service.
type ModelLimits struct {
	// RequestsPerMinute is of the whole app, over all replicas. Without it the requests of a
	// session's token are limited as its messages are, and those of keys are not.
	RequestsPerMinute Limit `json:"requestsPerMinute,omitzero"`
	// Models lists those that may be asked, a * at the end standing for any rest. Empty: all.
	Models []string `json:"models,omitempty"`
	// MaxTokens is how long an answer may be, all its choices together. 0: as the model has it.
	MaxTokens int `json:"maxTokens,omitempty"`
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

// When the model is asked.
const (
	LLMAlways = "always" // of every message that is not exactly a button's
	LLMUnsure = "unsure" // where the words alone leave a doubt
)

// LLM says which model is asked, when, and how much it is shown.
type LLM struct {
	// Tools is the model as provider/model, as in openai/gpt-4o-mini.
	Tools string `json:"tools,omitempty"`
	// When is LLMAlways or LLMUnsure; empty is the first.
	When string `json:"when,omitempty"`
	// MostTools is how many tools a request has at most; 0 leaves it to the service.
	MostTools int `json:"mostTools,omitempty"`
}

// How sure the words of a message have to be where no model decides.
const (
	BarCertain = "certain" // a wrong tool is worse than none
	BarLikely  = "likely"  // more messages fire, and more of them a tool that was not meant
)

// Offline says how messages are matched where no model decides.
type Offline struct {
	// Bar is BarCertain or BarLikely; empty is the first.
	Bar string `json:"bar,omitempty"`
	// Confirm says which tools that say nothing of it ask first where the words decide: none
	// (ConfirmNever, and empty), ConfirmIrreversible or all (ConfirmAlways).
	Confirm string `json:"confirm,omitempty"`
}

// Module returns the app's module with that id, and whether there is one.
func (a *App) Module(id string) (Module, bool) {
	for _, module := range a.Modules {
		if module.ID == id {
			return module, true
		}
	}
	return Module{}, false
}

// OAuthClient returns the client id that the module's token is asked for.
func (m Module) OAuthClient() string {
	if m.ClientID != "" {
		return m.ClientID
	}
	return m.ID
}

// Limits are the rate limits and quotas of an app. The zero value has the defaults.
type Limits struct {
	// Rates over all replicas: what users and front-ends post, and what is fired
	// directly, by the whole app and by one of its sessions.
	MessagesPerMinute        Limit `json:"messagesPerMinute,omitzero"`
	SessionMessagesPerMinute Limit `json:"sessionMessagesPerMinute,omitzero"`
	TriggersPerMinute        Limit `json:"triggersPerMinute,omitzero"`
	SessionTriggersPerMinute Limit `json:"sessionTriggersPerMinute,omitzero"`
	// SessionDraftsPerMinute is how many drafts are matched for a session.
	SessionDraftsPerMinute Limit `json:"sessionDraftsPerMinute,omitzero"`
	// BytesPerMinute is what a session may store a minute. All sessions of the app
	// together may store sessionsInFull times as much.
	BytesPerMinute Limit `json:"bytesPerMinute,omitzero"`
	// Counts, which have no default.
	ToolsPerRepository     Limit `json:"toolsPerRepository,omitzero"`
	RepositoriesPerSession Limit `json:"repositoriesPerSession,omitzero"`
	// Off removes all limits: the app's limits are null.
	Off bool `json:"-"`
}

// Limit is the maximum number of something: 0 if the app sets none, so that the default
// applies, or noLimit.
type Limit int

// noLimit is a limit that the app has taken off: null, or 0, in JSON.
const noLimit Limit = -1

// Defaults of the rates: generous for people, and small for a flood.
const (
	defaultMessages        = 12_000
	defaultSessionMessages = 120
	defaultTriggers        = 12_000
	defaultSessionTriggers = 120
	defaultSessionDrafts   = 600
	defaultBytes           = 4_000_000
	// sessionsInFull is how many sessions that use up their bytes an app has room for.
	sessionsInFull = 100
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

// plainLimits are Limits without their methods.
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

// most is the number that a limit stands for; 0 for any number.
func (l Limits) most(limit Limit, fallback int) int {
	switch {
	case l.Off || limit == noLimit:
		return 0
	case limit == 0:
		return fallback
	default:
		return int(limit)
	}
}

// Rates are the limits of a minute as the scripts read them, out of the field "limits"
// of the app: messages of the app and of a session, triggers of both, bytes of both, and
// drafts of a session.
// 0 is no limit.
func (l Limits) Rates() string {
	stored := l.most(l.BytesPerMinute, defaultBytes)
	return fmt.Sprint(l.most(l.MessagesPerMinute, defaultMessages), l.most(l.SessionMessagesPerMinute, defaultSessionMessages),
		l.most(l.TriggersPerMinute, defaultTriggers), l.most(l.SessionTriggersPerMinute, defaultSessionTriggers),
		sessionsInFull*stored, stored, l.most(l.SessionDraftsPerMinute, defaultSessionDrafts))
}

// Rates are all limits of a minute as the scripts read them: those of Limits, and the requests to
// a model.
func (s Settings) Rates() string {
	return s.Limits.Rates() + fmt.Sprint(" ", Limits{}.most(s.OpenAI.Limits.RequestsPerMinute, 0))
}

// ErrFull means that an app has reached the maximum number of something.
var ErrFull = errors.New("there is no room")

// LimitError means that a write would exceed a count that the app's settings limit.
type LimitError struct {
	Limit string // as settings.limits names it
	Most  int
}

// Error names the limit and its number.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s is limited to %d: remove what is not needed, or raise settings.limits.%[1]s of the app", e.Limit, e.Most)
}

// CheckTools checks a repository against the limit on its number of tools. A repository
// over a limit that was set later stays as it is until the next write.
func (l Limits) CheckTools(r *Repository) error {
	if most := l.MostTools(); most > 0 && len(r.Tools) > most {
		return &LimitError{Limit: "toolsPerRepository", Most: most}
	}
	return nil
}

// MostTools is how many a repository may have; 0 for any number.
func (l Limits) MostTools() int { return l.most(l.ToolsPerRepository, 0) }

// Repositories is how many a scope may have; 0 for any number. Only sessions are limited.
func (l Limits) Repositories(scope Scope) int {
	if scope.SessionID == "" {
		return 0
	}
	return l.most(l.RepositoriesPerSession, 0)
}
