package llm

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"earshot/matcher"
	"earshot/matcher/llm/anthropic"
	"earshot/matcher/llm/cohere"
	"earshot/matcher/llm/gemini"
	"earshot/matcher/llm/openai"
	"earshot/matcher/llm/provider"
	"earshot/repositories"
)

// What an app's settings call the providers, as in anthropic/claude-haiku-4-5.
const (
	providerOpenAI    = "openai" // and all that is compatible with it
	providerAnthropic = "anthropic"
	providerGemini    = "gemini" // and Vertex AI
	providerCohere    = "cohere"
)

// OpenAI is where OpenAI's own API is.
const OpenAI = "https://api.openai.com/v1"

// vendor is a provider that could be configured.
type vendor struct {
	provider.Config
	name string
	// variable is what the names of its environment variables begin with.
	variable string
	open     func(provider.Network, provider.Config) (provider.Client, error)
}

// vendors lists the providers in the order in which one of them becomes the default.
func (o Options) vendors() []vendor {
	compatible := provider.Config{Key: o.Key, BaseURL: o.BaseURL, Model: o.Model}
	return []vendor{
		{compatible.WithDefaults(OpenAI, DefaultModel), providerOpenAI, "OPENAI", openai.New},
		{o.Anthropic.WithDefaults("https://api.anthropic.com", anthropic.DefaultModel), providerAnthropic, "ANTHROPIC", anthropic.New},
		{o.Gemini.WithDefaults("https://generativelanguage.googleapis.com", gemini.DefaultModel), providerGemini, "GEMINI", gemini.New},
		{o.Cohere.WithDefaults("https://api.cohere.com", cohere.DefaultModel), providerCohere, "COHERE", cohere.New},
	}
}

// first returns the default provider: the first that is configured, else OpenAI.
func (o Options) first() vendor {
	known := o.vendors()
	for _, one := range known {
		if one.Configured() {
			return one
		}
	}
	return known[0]
}

// connection is a provider's client, or the reason why there is none.
type connection struct {
	name   string // of the provider
	client provider.Client
	err    error
}

// connect makes the provider's client. A provider that cannot be connected is unavailable
// to the messages that need it, and no others are affected.
func (p vendor) connect(network provider.Network) connection {
	if !p.Configured() {
		return connection{err: &matcher.Unavailable{Reason: fmt.Sprintf(
			"%s is not configured: set %[2]s_API_KEY, or %[2]s_BASE_URL for an endpoint that needs no key", p.name, p.variable)}}
	}
	client, err := p.open(network, p.Config)
	if err != nil {
		err = &matcher.Unavailable{Reason: fmt.Sprintf("%s cannot be used: %s", p.name, provider.Scrub(err.Error(), p.Key.Reveal()))}
	}
	return connection{p.name, client, err}
}

// traced is the name of the provider in the conventions of OpenTelemetry.
func (c connection) traced() string {
	if c.name == providerGemini {
		return "gcp.gen_ai"
	}
	return c.name
}

// choose returns the provider and the model that the app's settings name, as in
// openai/gpt-4o. A name without a provider is a model of the default one.
func (l *LLM) choose(app *repositories.App) (chosen connection, model string, err error) {
	named, first := "", l.first
	if app != nil {
		named = app.Settings.LLM.Tools
	}
	name, model, parted := strings.Cut(named, "/")
	if !parted {
		name, model = first.name, cmp.Or(named, first.Model)
	}
	chosen, known := l.providers[name]
	if !known || model == "" {
		return connection{}, "", &matcher.Unavailable{Reason: fmt.Sprintf(
			"settings.llm.tools is %q: give it as PROVIDER/MODEL, as in openai/MODEL; providers are openai, anthropic, gemini and cohere", named)}
	}
	return chosen, model, chosen.err
}

// CheckModel says why the messages of an app whose settings name a model so cannot be
// matched; nil where they can.
func (l *LLM) CheckModel(named string) error {
	_, _, err := l.choose(&repositories.App{Settings: repositories.Settings{LLM: repositories.LLM{Tools: named}}})
	if away := (*matcher.Unavailable)(nil); errors.As(err, &away) {
		return errors.New(away.Reason)
	}
	return err
}

// host names an endpoint without its path and query, and without any credentials in its
// URL.
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

// others lists the configured providers other than the default.
func (o Options) others() string {
	var names []string
	for _, one := range o.vendors() {
		if one.Configured() && one.name != o.first().name {
			names = append(names, one.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; settings.llm.tools can also name " + strings.Join(names, ", ")
}
