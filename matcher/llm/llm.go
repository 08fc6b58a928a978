// Package llm matches by asking a model with tool calling: it lays out the request, parses
// and checks the answer, and sends faulty calls back once.
package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel/trace"

	"earshot/matcher"
	"earshot/matcher/llm/provider"
	"earshot/matcher/retrieval"
	"earshot/repositories/secret"
	"earshot/repositories/tracing"
)

// Defaults and limits of Options.
const (
	DefaultModel   = "gpt-4o-mini"
	DefaultTimeout = 20 * time.Second
	DefaultHistory = 40
	DefaultLimit   = 64
	// DefaultMessages is how many messages may be under work at once.
	DefaultMessages = 512
	// MaxTools is how many tools a request may carry at all: OpenAI's limit.
	MaxTools = 128
)

// Options configure the matcher. The zero value names no LLM: package chain then matches
// offline.
type Options struct {
	// BaseURL is an OpenAI-compatible endpoint up to its version, as in
	// https://api.openai.com/v1, which is what an empty one means.
	BaseURL string
	Key     secret.Secret
	// Model is asked where the app's settings name none.
	Model string
	// Anthropic, Gemini and Cohere are asked through their own APIs, by the apps whose
	// settings name them. If OpenAI is not configured, the first of them that is becomes
	// the default. A BaseURL of Gemini with /projects/…/locations/… in its path is Vertex
	// AI, which without a key takes Google's application default credentials.
	Anthropic, Gemini, Cohere provider.Config
	// Timeout is the time for one request, and for two where the second one is made with
	// tools that the model looked for.
	Timeout time.Duration
	// History is how many earlier messages the model sees at most.
	History int
	// Limit is how many tools a request has at most, where the app's settings do not say;
	// of more a model is offered some, and a function with which it looks for the others.
	Limit int

	// Meaning ranks tools beside the words where not all are offered; nil for none.
	Meaning retrieval.Meaning

	// HTTPClient asks all providers; provider.NewHTTPClient makes it where none is given.
	HTTPClient *http.Client
	Logger     *slog.Logger
	// Now is the clock for Retry-After given as a date.
	Now func() time.Time
	// Observe, where given, is told of every request to the LLM. It must be safe
	// for concurrent use and must not block.
	Observe func(Exchange)
}

// Exchange describes one completed request to an LLM, for metrics.
type Exchange struct {
	Model string
	Took  time.Duration
	Usage provider.Usage
	Err   error // nil, or why there is no answer
}

// Configured reports whether the options name an LLM: by a key or by an endpoint.
func (o Options) Configured() bool { return o.first().Configured() }

// withDefaults fills in what was left out and bounds what is too much.
func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.History = cmp.Or(o.History, DefaultHistory)
	o.Limit = min(max(1, cmp.Or(o.Limit, DefaultLimit)), MaxTools)
	if o.HTTPClient == nil {
		o.HTTPClient = provider.NewHTTPClient(DefaultMessages)
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Observe == nil {
		o.Observe = func(Exchange) {}
	}
	return o
}

// LLM is a Matcher that asks a model with tool calling, once per message and a second time
// if its first answer has faults, or looks for tools that it is not offered. It is safe for
// concurrent use.
type LLM struct {
	options   Options
	first     vendor // the default one
	providers map[string]connection
	retriever *retrieval.Retriever
	rules     *lru.Cache[string, []byte] // what models are told first, as it stands in requests
}

// knownRules is of how many apps it is known.
const knownRules = 256

// New returns a matcher that asks the providers that the options configure.
func New(options Options) *LLM {
	options = options.withDefaults()
	rules, _ := lru.New[string, []byte](knownRules) // fails for a size of 0 only
	llm := &LLM{options: options, first: options.first(), providers: map[string]connection{}, retriever: retrieval.NewFused(options.Meaning), rules: rules}
	network := provider.Network{HTTPClient: options.HTTPClient, Timeout: options.Timeout, Now: options.Now}
	for _, one := range options.vendors() {
		llm.providers[one.name] = one.connect(network)
	}
	return llm
}

// Match asks which tools the message calls for. If nothing is in scope and no reply is
// wanted, no request is made.
func (l *LLM) Match(ctx context.Context, request matcher.Request) (matcher.Result, error) {
	if len(request.Candidates) == 0 && !request.Chat {
		return matcher.Result{Stage: matcher.StageNone}, nil
	}
	turn, err := l.newTurn(request)
	if err != nil {
		l.options.Logger.WarnContext(ctx, "llm.unconfigured", "app", appOf(request), "error", err.Error())
		return matcher.Result{}, err
	}
	turn.trace = matcher.TraceOf(ctx)
	turn.offer(ctx, l.retriever)
	limited := ctx
	if turn.finder != "" { // a search is within the time of the request that asks for it
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, l.options.Timeout)
		defer cancel()
	}
	answer, err := l.ask(limited, turn.model, turn.ask)
	if err != nil {
		return matcher.Result{}, err
	}
	first, second := turn.read(answer), checkedAnswer{}
	if first.asksForMore() {
		second, err = l.find(limited, turn, first)
	} else {
		second, err = l.retry(ctx, turn, first)
	}
	if err != nil {
		return matcher.Result{}, err
	}
	return turn.result(first, second), nil
}

func appOf(request matcher.Request) string {
	if request.App == nil {
		return ""
	}
	return request.App.ID
}

// Reply asks for the text of the answer. The model is shown the results of the tools and is
// offered no tool, so that a reply triggers nothing.
func (l *LLM) Reply(ctx context.Context, request matcher.Request, fired []matcher.PastCall) (string, error) {
	turn, err := l.newTurn(request)
	if err != nil {
		return "", err
	}
	turn.ask.Messages = append(turn.ask.Messages, turn.pastCalls(fired)...)
	answer, err := l.ask(ctx, turn.model, turn.ask)
	if err != nil {
		return "", err
	}
	return turn.read(answer).text, nil
}

// ask sends one request under its own time limit.
func (l *LLM) ask(ctx context.Context, model connection, request provider.Request) (provider.Completion, error) {
	ctx, span := tracing.Start(ctx, "chat "+request.Model, trace.SpanKindClient)
	limited, cancel := context.WithTimeout(ctx, l.options.Timeout)
	defer cancel()
	wire := &provider.Wire{}
	if matcher.TraceOf(ctx) != nil {
		limited = provider.Watched(limited, wire)
	}
	start := l.options.Now()
	answer, err := model.client.Complete(limited, request)
	err = l.explain(ctx, limited, err)
	if away := new(matcher.Unavailable); errors.As(err, &away) && away.Detail != "" {
		l.options.Logger.WarnContext(ctx, "llm.unreached", "model", request.Model, "error", away.Detail)
	}
	exchange := Exchange{Model: request.Model, Took: l.options.Now().Sub(start), Usage: answer.Usage, Err: err}
	l.options.Observe(exchange)
	l.record(matcher.TraceOf(ctx), request, wire, exchange)
	endSpan(span, model, exchange)
	return answer, err
}

// endSpan ends the span of a request, which has nothing of what was said in it.
func endSpan(span trace.Span, model connection, of Exchange) {
	fault := ""
	if of.Err != nil {
		fault = "model_unavailable"
	}
	tracing.End(span, fault, tracing.OperationName.String("chat"), tracing.ProviderName.String(model.traced()), tracing.RequestModel.String(of.Model),
		tracing.InputTokens.Int(of.Usage.Prompt), tracing.OutputTokens.Int(of.Usage.Completion), tracing.CachedTokens.Int(of.Usage.Cached))
}

// explain distinguishes a caller who went away from an LLM that took too long.
func (l *LLM) explain(caller, limited context.Context, err error) error {
	var unavailable *matcher.Unavailable
	switch {
	case err == nil || errors.As(err, &unavailable):
		return err
	case errors.Is(caller.Err(), context.Canceled):
		return fmt.Errorf("asking the LLM: %w", caller.Err())
	case limited.Err() != nil:
		return &matcher.Unavailable{Reason: fmt.Sprintf("no answer within %s", l.options.Timeout)}
	default:
		return &matcher.Unavailable{Reason: err.Error()}
	}
}
