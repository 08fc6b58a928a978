// Package gateway is a model's endpoint that listens: chat clients take it for their model, and
// what the model says is relayed to them byte for byte as it comes, while what the user said
// last is matched beside (settings.openai.mode "watch").
//
// Nothing that happens beside is waited for: a store or a matcher that is slow or fails
// delays no byte.
package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"earshot/api/answer"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// Limits of what is relayed at once.
const (
	// MaxBody is the longest request for a completion, in bytes: a conversation with pictures.
	MaxBody = 16 << 20
	// smallBody is the longest request in which the message is looked for before the model has
	// begun to answer, in bytes.
	smallBody = 64 << 10
	// firstRead is the memory that a request has before more of it has come, in bytes.
	firstRead = 16 << 10
	// mostBeside is how many messages are on their way to the engine at once.
	mostBeside = 4096
)

// Model is the endpoint that chats are relayed to, as OpenAI's.
type Model struct {
	// BaseURL is where it is, up to its version; empty where none is configured.
	BaseURL string
	// Key is its key, which no client sees; empty for none.
	Key secret.Secret
	// Headers are further ones that pass between a client and the model's host, both ways; a * at
	// the end of one stands for any rest. CheckHeaders checks them.
	Headers []string
	// Transport is what it is asked with. It must not unpack what it gets.
	Transport http.RoundTripper
	// Arguments reads what the model wrote as the arguments of a call. Its error is for the
	// model.
	Arguments func(text string) (arguments map[string]any, repaired bool, err error)
	// Read reads arguments against what was said, and returns them as they are meant as well.
	Read func(request matcher.Request, arguments map[string]any, tool *repositories.Tool) (parameters.Reading, map[string]any)
}

// Engine takes what is said in chats.
type Engine interface {
	// PostAsync returns as soon as a message is stored; the same id again fires nothing.
	PostAsync(ctx context.Context, message trigger.Message) (messageID string, err error)
	// Post returns what came of a message, the JSON of a query.Answer.
	Post(ctx context.Context, message trigger.Message) (json.RawMessage, error)
	// Fire fires a tool and returns the JSON of a query.Match; the same id again that of the
	// first time.
	Fire(ctx context.Context, direct trigger.Direct) (json.RawMessage, error)
	// Triggers lists what has fired.
	Triggers(ctx context.Context, query query.Triggers) (items []query.Record, next string, err error)
	// History lists what was said in a session before.
	History(ctx context.Context, asked query.History) (items []query.Entry, next string, err error)
	// Offered lists the tools in scope that a model is offered for a text, and says in which time
	// zone the session's user is; empty for nobody knows.
	Offered(ctx context.Context, appID, sessionID, text string, claims parameters.Claims) (tools []matcher.Candidate, zone string, err error)
	// Count counts a use against the limits of a minute; its error is a *ledger.RateError where
	// one is reached.
	Count(ctx context.Context, appID, sessionID string, use ledger.Use) error
	// Background runs a function that no request waits for, with a context that ends with the
	// engine. A service that ends waits for it.
	Background(run func(ctx context.Context))
}

// Settings knows what an app does with its chats, and what they may ask of the model. Its error is
// repositories.ErrNotFound without the app.
type Settings interface {
	ChatSettings(ctx context.Context, appID string) (repositories.OpenAI, error)
}

// Lives knows the life of a session, which is another when it was closed.
type Lives interface {
	LifeOf(ctx context.Context, appID, sessionID string) (store.Generation, error)
}

// Options are what New needs.
type Options struct {
	Engine   Engine
	Settings Settings
	// Lives tells a session from earlier ones of its name.
	Lives Lives
	Model Model
	// Users verifies the ID tokens in the header of a request: what they say, and a word of
	// why others do not do.
	Users func(ctx context.Context, appID string, header http.Header) (claims parameters.Claims, faults map[string]string, err error)
	// Trace is the trace that a request belongs to (W3C Trace Context).
	Trace func(ctx context.Context) string
	// Now is the clock by which words such as tomorrow are understood.
	Now     func() time.Time
	Logger  *slog.Logger
	Metrics prometheus.Registerer
}

// Handler serves chats. It is safe for concurrent use.
type Handler struct {
	Options
	url     string
	metrics metrics
	beside  chan struct{} // has one of each message on its way
	buffers sync.Pool
}

// New returns the handler of a model's endpoint.
func New(options Options) *Handler {
	return &Handler{
		Options: options, url: strings.TrimRight(options.Model.BaseURL, "/"), metrics: newMetrics(options.Metrics),
		beside: make(chan struct{}, mostBeside), buffers: sync.Pool{New: func() any { return new([relayed]byte) }},
	}
}

// Models answers with the models that the endpoint behind has.
func (h *Handler) Models(c echo.Context) error {
	settings, err := h.Settings.ChatSettings(c.Request().Context(), c.Param("appId"))
	if err != nil {
		return err
	}
	if err := h.counted(c, settings.Limits); err != nil {
		return err
	}
	return h.relay(c, "/models", nil, nil)
}

// completions is where the model takes chats, below its URL.
const completions = "/chat/completions"

// Chat relays a chat completion.
func (h *Handler) Chat(c echo.Context) error {
	settings, err := h.Settings.ChatSettings(c.Request().Context(), c.Param("appId"))
	if err != nil {
		return err
	}
	body, err := readWhole(c)
	if err != nil {
		return err
	}
	if body, err = h.within(settings.Limits, body); err != nil {
		return err
	}
	if err := h.counted(c, settings.Limits); err != nil {
		return err
	}
	if settings.Mode == repositories.ChatAct {
		return h.act(c, body)
	}
	of, err := h.hear(c, body)
	if err != nil {
		return err
	}
	defer of.begins()
	return h.relay(c, completions, body, of)
}

// messageHeader names the message that the user has said last.
const messageHeader = "X-Earshot-Message-Id"

// relay asks the model and relays its answer.
func (h *Handler) relay(c echo.Context, path string, body []byte, of *hearing) error {
	response, err := h.ask(c, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or given up
	h.copyHeader(c, response)
	if id := of.message(); id != "" {
		c.Response().Header().Set(messageHeader, id)
	}
	c.Response().WriteHeader(response.StatusCode)
	return h.copyBody(c, response, of.begins)
}

// noModel is the problem of a service that no model is behind.
func noModel() error {
	return answer.NewProblem(http.StatusNotImplemented,
		"no model is behind this endpoint: set OPENAI_API_KEY, or OPENAI_BASE_URL for another than OpenAI's, where Earshot runs").
		With("X-Should-Retry", "false").Coded("model_not_configured")
}

// dropped is the outcome of a message for which there was no room.
const dropped = "dropped"

// metrics count what is relayed, and what is heard meanwhile. Their names are public.
type metrics struct{ requests, messages *prometheus.CounterVec }

func newMetrics(registry prometheus.Registerer) metrics {
	return metrics{
		requests: counter(registry, "earshot_openai_requests_total",
			"Requests to the model behind the endpoint for chats, by outcome: answered, whatever its status, unreachable, broken, or left by the client.",
			"answered", "unreachable", "broken", "left"),
		messages: counter(registry, "earshot_openai_messages_total",
			"Messages that were heard in chats, by outcome: kept, limited, failed, or dropped for lack of room.",
			"kept", "limited", "failed", dropped),
	}
}

// counter returns the registry's counter; a second handler on one registry shares it. Its
// outcomes are there before they are counted: Prometheus sees no increase in one that begins
// with 1.
func counter(registry prometheus.Registerer, name, help string, outcomes ...string) *prometheus.CounterVec {
	made := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"outcome"})
	for _, outcome := range outcomes {
		made.WithLabelValues(outcome)
	}
	var there prometheus.AlreadyRegisteredError
	if errors.As(registry.Register(made), &there) {
		return there.ExistingCollector.(*prometheus.CounterVec)
	}
	return made
}
