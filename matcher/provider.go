package matcher

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"earshot/repositories"
)

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
	open     func(network, Provider) (completer, error)
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
func (p provider) reach(network network) opened {
	if !p.Configured() {
		return opened{err: &Unavailable{Reason: fmt.Sprintf(
			"%s is not configured: set %[2]s_API_KEY, or %[2]s_BASE_URL for an endpoint that needs no key", p.name, p.variable)}}
	}
	client, err := p.open(network, p.Provider)
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

// host names an endpoint without its path and query, and without what credentials its
// URL may hold.
func host(baseURL string) string {
	parsed, err := url.Parse(baseURL)
	if err != nil || parsed.Host == "" {
		return "the configured base URL"
	}
	return parsed.Host
}

// Describe says in one sentence which model matches, without any credential.
func (o Options) Describe() string {
	o = o.withDefaults()
	first := o.first()
	return fmt.Sprintf("the LLM %s at %s matches, within %s for each request%s", first.Model, host(first.BaseURL), o.Timeout, o.others())
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
