// Package llm matches by asking a model with tool calling: it writes the request, parses and checks the answer, and
// sends faulty calls back once.
package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
	"earshot/matcher/retrieval"
	"earshot/repositories"
	"earshot/repositories/secret"
)

// Defaults and limits of Options.
const (
	DefaultModel   = "gpt-4o-mini"
	DefaultTimeout = 20 * time.Second
	DefaultHistory = 40
	// DefaultLimit is how many tools a request offers unless the app's settings differ. Beyond it, a model is
	// offered some tools and a function to search for the others.
	DefaultLimit    = 64
	DefaultMessages = 512 // how many messages may be processed concurrently
	MaxTools        = 128 // the maximum number of tools in a request: OpenAI's limit

	// OpenAI is the base URL of OpenAI's own API.
	OpenAI = "https://api.openai.com/v1"
)

// Options configure the matcher. The zero value has no LLM: package chain then matches offline.
type Options struct {
	BaseURL string // an OpenAI-compatible endpoint up to its version; the default is https://api.openai.com/v1
	Key     secret.Secret
	Model   string // the default model of apps
	// Anthropic, Gemini and Cohere are used through their own APIs by apps whose settings name them. Without
	// OpenAI, the first configured one is the default. A Gemini BaseURL with /projects/…/locations/… is Vertex AI,
	// which uses Google's application default credentials if there is no key.
	Anthropic, Gemini, Cohere Config
	Timeout                   time.Duration // the time for one request, and for two if the model searches for tools in the first
	History                   int           // the maximum number of earlier messages that the model sees

	// Meaning ranks tools together with words if not all are offered; nil for none.
	Meaning retrieval.Meaning

	// HTTPClient provides the Transport for all providers; the default is made by NewHTTPClient.
	HTTPClient *http.Client
	Logger     *slog.Logger
	// Now is the clock for Retry-After given as a date.
	Now func() time.Time
	// Observe, if set, is called after every request to the LLM. It must be safe for concurrent
	// use and must not block.
	Observe func(Exchange)
}

// Exchange describes one completed request to an LLM, for metrics.
type Exchange struct {
	App   string // empty for none
	Model string
	Took  time.Duration
	Usage Usage
	Err   error // nil, or why there is no answer
}

// Config configures a provider with its own API. The zero value configures none.
type Config struct {
	Key secret.Secret
	// BaseURL is the provider's address, with or without the API's version at its end; the default is its public
	// one.
	BaseURL string
	// Model is the default model of apps; empty for a small, quick one.
	Model string
}

// Configured reports whether there is a key or an endpoint.
func (c Config) Configured() bool { return !c.Key.Empty() || c.BaseURL != "" }

// WithDefaults fills in the empty fields of a configured provider.
func (c Config) WithDefaults(baseURL, model string) Config {
	if c.Configured() {
		c.BaseURL, c.Model = cmp.Or(c.BaseURL, baseURL), cmp.Or(c.Model, model)
	}
	return c
}

// vendor is a provider that can be configured. Settings name it, as in anthropic/claude-haiku-5-5.
type vendor struct {
	Config
	name string
	open func(endpoint, Config) (provider, error)
}

// connection is a provider, or the reason why it is unavailable.
type connection struct {
	name     string
	provider provider
	err      error
}

// vendors lists the providers in the order of preference for the default. OpenAI includes all compatible endpoints,
// and Gemini includes Vertex AI.
func (o Options) vendors() []vendor {
	compatible := Config{Key: o.Key, BaseURL: o.BaseURL, Model: o.Model}
	return []vendor{
		{compatible.WithDefaults(OpenAI, DefaultModel), "openai", newOpenAI},
		{o.Anthropic.WithDefaults("https://api.anthropic.com", "claude-haiku-5-5"), "anthropic", newAnthropic},
		{o.Gemini.WithDefaults("https://generativelanguage.googleapis.com", "gemini-3.5-flash-lite"), "gemini", newGemini},
		{o.Cohere.WithDefaults("https://api.cohere.com", "command-a-03-2025"), "cohere", newCohere},
	}
}

// first returns the default provider: the first configured one, else OpenAI.
func (o Options) first() vendor {
	known := o.vendors()
	return known[max(0, slices.IndexFunc(known, func(v vendor) bool { return v.Configured() }))]
}

// Configured reports whether the options have a key or an endpoint of an LLM.
func (o Options) Configured() bool { return o.first().Configured() }

// Describe returns a sentence on which model matches, without any credential.
func (o Options) Describe() string {
	first, host := o.first(), "the configured base URL"
	if parsed, err := url.Parse(first.BaseURL); err == nil && parsed.Host != "" {
		host = parsed.Host
	}
	text := fmt.Sprintf("the LLM %s at %s matches, within %s for each request", first.Model, host, cmp.Or(o.Timeout, DefaultTimeout))

	var others []string
	for _, other := range o.vendors() {
		if other.Configured() && other.name != first.name {
			others = append(others, other.name)
		}
	}
	if len(others) > 0 {
		text += "; settings.llm.tools can also name " + strings.Join(others, ", ")
	}
	return text
}

// LLM is a Matcher that asks a model with tool calling. It asks once per message, and a second time if the first
// answer has faults or searches for tools. It is safe for concurrent use.
type LLM struct {
	options   Options
	first     vendor // the default
	providers map[string]connection
	retriever *retrieval.Retriever
	rules     *lru.Cache[string, []byte] // encoded system texts
}

// New returns a matcher that asks the providers that the options configure.
func New(options Options) *LLM {
	options.Timeout = cmp.Or(options.Timeout, DefaultTimeout)
	options.History = cmp.Or(options.History, DefaultHistory)
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	if options.HTTPClient == nil {
		options.HTTPClient = NewHTTPClient(DefaultMessages)
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Observe == nil {
		options.Observe = func(Exchange) {}
	}
	rules, _ := lru.New[string, []byte](256) // apps; fails only for size 0
	llm := &LLM{options: options, first: options.first(), providers: map[string]connection{}, retriever: retrieval.NewFused(options.Meaning), rules: rules}
	for _, one := range options.vendors() {
		llm.providers[one.name] = one.connect(options)
	}
	return llm
}

// connect opens a provider. A failure affects only the messages that need that provider.
func (v vendor) connect(options Options) connection {
	if !v.Configured() {
		return connection{err: &matcher.Unavailable{Reason: fmt.Sprintf(
			"%s is not configured: set %[2]s_API_KEY, or %[2]s_BASE_URL for an endpoint that needs no key", v.name, strings.ToUpper(v.name))}}
	}
	base := endpoint{transport: cmp.Or(options.HTTPClient.Transport, http.DefaultTransport), timeout: options.Timeout, now: options.Now, header: commonHeader(), key: v.Key.Reveal()}
	base.refused, _ = lru.New[string, []string](maxRefusing) // fails only for size 0
	opened, err := v.open(base, v.Config)
	if err != nil {
		err = &matcher.Unavailable{Reason: fmt.Sprintf("%s cannot be used: %s", v.name, Scrub(err.Error(), base.key))}
	}
	return connection{v.name, opened, err}
}

// CheckModel returns why messages cannot be matched with a model that settings name; nil if they can.
func (l *LLM) CheckModel(named string) error {
	_, _, err := l.choose(&repositories.App{Settings: repositories.Settings{LLM: repositories.LLM{Tools: named}}})
	if unavailable, is := errors.AsType[*matcher.Unavailable](err); is {
		return errors.New(unavailable.Reason)
	}
	return err
}

// Match asks which tools the message calls for. Without candidates and chat, it makes no request.
func (l *LLM) Match(ctx context.Context, request matcher.Request) (matcher.Result, error) {
	if len(request.Candidates) == 0 && !request.Chat {
		return matcher.Result{Stage: matcher.StageNone}, nil
	}
	if len(request.Unfinished) > 0 && matcher.Abandons(request.Text) {
		request.Unfinished = nil
	}
	turn, err := l.newTurn(request)
	if err != nil {
		l.options.Logger.WarnContext(ctx, "llm.unconfigured", "app", appOf(request), "error", err.Error())
		return matcher.Result{}, err
	}
	turn.trace = matcher.TraceOf(ctx)
	turn.offer(ctx, l.retriever)
	limited := ctx
	if turn.finder != "" { // a search shares the time limit of its request
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, l.options.Timeout)
		defer cancel()
	}
	answer, err := l.ask(limited, turn, turn.ask)
	if err != nil {
		return matcher.Result{}, err
	}
	first, second := turn.read(answer), checkedAnswer{}
	if first.searches() {
		second, err = l.find(limited, turn, first)
	} else {
		second, err = l.retry(ctx, turn, first)
	}
	if err != nil {
		return matcher.Result{}, err
	}
	return turn.result(first, second), nil
}

// appOf returns the id of the request's app; empty for none.
func appOf(request matcher.Request) string {
	if request.App == nil {
		return ""
	}
	return request.App.ID
}

// Reply asks for the text of the answer. The model sees the results of the tools and is offered no tool, so that a
// reply triggers nothing.
func (l *LLM) Reply(ctx context.Context, request matcher.Request, fired []matcher.PastCall) (string, error) {
	turn, err := l.newTurn(request)
	if err != nil {
		return "", err
	}
	turn.ask.messages = turn.appendCalls(turn.ask.messages, fired)
	answer, err := l.ask(ctx, turn, turn.ask)
	if err != nil {
		return "", err
	}
	return turn.read(answer).text, nil
}
