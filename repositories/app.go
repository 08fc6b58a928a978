package repositories

import "earshot/repositories/secret"

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
}

// Module is an OAuth2 client of the app; the calls of a tool with auth "module"
// carry its token.
type Module struct {
	ID       string        `json:"moduleId"`
	Secret   secret.Secret `json:"secret"`
	ClientID string        `json:"clientId,omitempty"` // the moduleId where it is missing
	TokenURL string        `json:"tokenUrl"`
	Audience string        `json:"audience,omitempty"`
	Scopes   []string      `json:"scopes,omitempty"`
	// Hosts are those that tools may use the module towards, beside that of TokenURL,
	// where they were written by somebody who may not change the app.
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

// Settings of an app. The zero value is what an app has that gives none.
type Settings struct {
	// ChatModeEnabled asks for a reply of the LLM to every message.
	ChatModeEnabled bool `json:"chatModeEnabled"`
	// SkipToolResponse suppresses the reply after a match.
	SkipToolResponse bool `json:"skipToolResponse"`
	// Prompt is added to what the LLM is told.
	Prompt Prompt `json:"prompt,omitzero"`
	// LLM chooses models by purpose.
	LLM LLM `json:"llm,omitzero"`
	// AllowedOrigins lists the origins whose pages may call from a browser.
	AllowedOrigins []string `json:"allowedOrigins,omitempty"`
	// Limits bound what the app's users may do.
	Limits Limits `json:"limits,omitzero"`
}

// Prompt is an app's own text for the LLM.
type Prompt struct {
	Text string `json:"text,omitempty"`
}

// LLM names models as provider/model, as in openai/gpt-4o-mini.
type LLM struct {
	Tools string `json:"tools,omitempty"`
}

// Module returns the app's module of that id.
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
