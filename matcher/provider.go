package matcher

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"earshot/repositories"
)

// Provider says how one provider of LLMs is reached through its own API. The zero
// value is a provider that is not configured.
type Provider struct {
	Key repositories.Secret
	// BaseURL is where the provider is; empty is its own address. The version of the
	// API may stand at its end or be left out.
	BaseURL string
	// Model is asked where the app's settings name none; empty is a small, quick one.
	Model string
}

// Configured reports whether there is a key or an endpoint.
func (p Provider) Configured() bool { return !p.Key.Empty() || p.BaseURL != "" }

// What an app's settings call the providers, as in anthropic/claude-haiku-4-5.
const (
	providerOpenAI    = "openai" // and all that is compatible with it
	providerAnthropic = "anthropic"
	providerGemini    = "gemini" // and Vertex AI
	providerCohere    = "cohere"
)

// provider is one that there could be.
type provider struct {
	Provider
	name string
	// variable is what the names of its environment variables begin with.
	variable string
	open     func(Options, Provider) (completer, error)
}

// known lists the providers in the order in which one of them becomes the default.
func (o Options) known() []provider {
	openai := Provider{Key: o.Key, BaseURL: o.BaseURL, Model: o.Model}
	return []provider{
		{openai.or("https://api.openai.com/v1", DefaultModel), providerOpenAI, "OPENAI", newOpenAI},
		{o.Anthropic.or("https://api.anthropic.com", anthropicModel), providerAnthropic, "ANTHROPIC", newAnthropic},
		{o.Gemini.or("https://generativelanguage.googleapis.com", geminiModel), providerGemini, "GEMINI", newGemini},
		{o.Cohere.or("https://api.cohere.com", cohereModel), providerCohere, "COHERE", newCohere},
	}
}

// or fills in what was left out of a provider that is configured.
func (p Provider) or(baseURL, model string) Provider {
	if p.Configured() {
		p.BaseURL, p.Model = cmp.Or(p.BaseURL, baseURL), cmp.Or(p.Model, model)
	}
	return p
}

// first returns the default provider: the first that is configured, else OpenAI.
func (o Options) first() provider {
	known := o.known()
	for _, one := range known {
		if one.Configured() {
			return one
		}
	}
	return known[0]
}

// opened is a provider that can be asked, or why it cannot.
type opened struct {
	completer completer
	err       error
}

// reach opens the provider. One that cannot be had is unavailable to every message that
// needs it, and no other is affected.
func (p provider) reach(options Options) opened {
	if !p.Configured() {
		return opened{err: &Unavailable{Reason: fmt.Sprintf(
			"%s is not configured: set %[2]s_API_KEY, or %[2]s_BASE_URL for an endpoint that needs no key", p.name, p.variable)}}
	}
	client, err := p.open(options, p.Provider)
	if err != nil {
		err = &Unavailable{Reason: fmt.Sprintf("%s cannot be used: %s", p.name, scrub(err.Error(), p.Key.Reveal()))}
	}
	return opened{client, err}
}

// choose returns the provider and the model that the app's settings name, as in
// openai/gpt-4o. A name without a provider is a model of the default one.
func (l *LLM) choose(app *repositories.App) (completer, string, error) {
	named, first := "", l.options.first()
	if app != nil {
		named = app.Settings.LLM.Tools
	}
	name, model, parted := strings.Cut(named, "/")
	if !parted {
		name, model = first.name, cmp.Or(named, first.Model)
	}
	chosen, known := l.providers[name]
	if !known || model == "" {
		return nil, "", &Unavailable{Reason: fmt.Sprintf(
			"settings.llm.tools is %q: give it as PROVIDER/MODEL, as in openai/MODEL; providers are openai, anthropic, gemini and cohere", named)}
	}
	return chosen.completer, model, chosen.err
}

var (
	versioned = regexp.MustCompile(`/(v[0-9]+[a-z0-9]*)/?$`)

	errBaseURL = errors.New("its base URL cannot be read: give it as in https://api.example.com")
)

// endpoint parts a base URL from the version at its end.
func endpoint(baseURL string) (base *url.URL, version string, err error) {
	base, err = url.Parse(baseURL)
	if err != nil || base.Host == "" {
		return nil, "", errBaseURL // without the URL: it may carry credentials
	}
	if found := versioned.FindStringSubmatch(base.Path); found != nil {
		base.Path, version = strings.TrimSuffix(base.Path, found[0]), found[1]
	}
	base.RawPath = ""
	return base, version, nil
}

// host names an endpoint without its path and query, and without what credentials its
// URL may hold.
func host(baseURL string) string {
	parsed, err := url.Parse(baseURL)
	if err != nil || parsed.Host == "" {
		return "the configured base URL"
	}
	return parsed.Host
}

// others names the configured providers beside the default one.
func (o Options) others() string {
	var names []string
	for _, one := range o.known() {
		if one.Configured() && one.name != o.first().name {
			names = append(names, one.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; settings.llm.tools can also name " + strings.Join(names, ", ")
}
