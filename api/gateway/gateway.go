// Package gateway is a model's endpoint between chat clients and their model: it relays the model's
// answer byte for byte as it comes, and matches the user's last message in the background
// (settings.openai.mode "watch"), or offers the tools in scope to the model ("act").
//
// No relayed byte waits for the matching: a store or a matcher that is slow or fails delays none.
package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
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
	// MaxBody is the longest request for an answer, in bytes: a conversation with pictures.
	MaxBody = 16 << 20
	// smallBody is the longest request in which the message is looked for before the model has
	// begun to answer, in bytes.
	smallBody = 64 << 10
	// firstRead is the memory that a request has before more of it has come, in bytes.
	firstRead = 16 << 10
	// mostPosting is how many messages are on their way to the engine at once.
	mostPosting = 4096
)

// Model is the endpoint that chats are relayed to, as OpenAI's.
type Model struct {
	// BaseURL is where it is, up to its version; empty if none is configured.
	BaseURL string
	// Key is its key, which no client sees; empty for none.
	Key secret.Secret
	// Headers are further ones that pass between a client and the model's host, both ways; a * at
	// the end of one stands for any rest. CheckHeaders checks them.
	Headers []string
	// Transport sends its requests. It must not unpack the answers.
	Transport http.RoundTripper
	// Arguments reads what the model wrote as the arguments of a call. Its error is for the model.
	Arguments func(text string) (arguments map[string]any, repaired bool, err error)
	// Read reads arguments against the conversation, and returns them as they are meant as well.
	Read func(request matcher.Request, arguments map[string]any, tool *repositories.Tool) (parameters.Reading, map[string]any)
}

// Engine takes the messages of chats.
type Engine interface {
	// PostAsync returns as soon as a message is stored; the same id again fires nothing.
	PostAsync(ctx context.Context, message trigger.Message) (messageID string, err error)
	// Post returns the answer to a message, the JSON of a query.Answer.
	Post(ctx context.Context, message trigger.Message) (json.RawMessage, error)
	// Fire fires a tool and returns the JSON of a query.Match; the same id again that of the
	// first time.
	Fire(ctx context.Context, direct trigger.Direct) (json.RawMessage, error)
	// Triggers lists what has fired.
	Triggers(ctx context.Context, query query.Triggers) (items []query.Record, next string, err error)
	// History lists the messages of a session.
	History(ctx context.Context, asked query.History) (items []query.Entry, next string, err error)
	// Offered lists the tools in scope that a model is offered for a text, and the time zone of the
	// session's user; empty if it is not known.
	Offered(ctx context.Context, appID, sessionID, text string, claims parameters.Claims) (tools []matcher.Candidate, zone string, err error)
	// Count counts a use against the limits of a minute; its error is a *ledger.RateError if one is
	// reached.
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

// Lives knows the generation of a session, which tells it from earlier ones of its name.
type Lives interface {
	LifeOf(ctx context.Context, appID, sessionID string) (store.Generation, error)
}

// Options are what New needs.
type Options struct {
	Engine   Engine
	Settings Settings
	Lives    Lives
	Model    Model
	// Users verifies the ID tokens in the header of a request: their claims, and why others are
	// refused.
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
	posting chan struct{} // has one of each message on its way
	buffers sync.Pool
}

// metrics count relayed requests, and the messages in them. Their names are public.
type metrics struct{ requests, messages *prometheus.CounterVec }

// New returns the handler of a model's endpoint.
func New(options Options) *Handler {
	return &Handler{
		Options: options, url: strings.TrimRight(options.Model.BaseURL, "/"),
		metrics: metrics{
			requests: counter(options.Metrics, "earshot_openai_requests_total",
				"Requests to the model behind the endpoint for chats, by outcome: answered, whatever its status, unreachable, broken, or left by the client.",
				"answered", "unreachable", "broken", "left"),
			messages: counter(options.Metrics, "earshot_openai_messages_total",
				"Messages of relayed chats, by outcome: kept, limited by a rate, failed, or dropped for lack of room.",
				"kept", "limited", "failed", "dropped"),
		},
		posting: make(chan struct{}, mostPosting), buffers: sync.Pool{New: func() any { return new([relayed]byte) }},
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

// Models answers with the models that the endpoint behind has, or with the one that the path names.
func (h *Handler) Models(c echo.Context) error {
	settings, err := h.Settings.ChatSettings(c.Request().Context(), c.Param("appId"))
	if err != nil {
		return err
	}
	if err := h.count(c, settings.Limits); err != nil {
		return err
	}
	path := "/models"
	if id := c.Param("modelId"); id != "" {
		path += "/" + url.PathEscape(id)
	}
	return h.relay(c, path, nil, nil)
}

// Completions relays a chat completion.
func (h *Handler) Completions(c echo.Context) error { return h.chat(c, &completions{}) }

// Responses relays a request of OpenAI's Responses API.
func (h *Handler) Responses(c echo.Context) error { return h.chat(c, &responses{}) }

// chat relays a request for an answer. It reads the body first: one in twenty answers would break if the
// model answered while the body still came. Its memory was booked as it came (see admission.Memory).
func (h *Handler) chat(c echo.Context, f form) error {
	settings, err := h.Settings.ChatSettings(c.Request().Context(), c.Param("appId"))
	if err != nil {
		return err
	}
	var read bytes.Buffer
	read.Grow(int(min(max(c.Request().ContentLength, 0), firstRead)) + bytes.MinRead)
	if _, err := read.ReadFrom(c.Request().Body); err != nil {
		return answer.Unread(err)
	}
	body, err := h.limit(f, settings.Limits, read.Bytes())
	if err != nil {
		return err
	}
	if err := h.count(c, settings.Limits); err != nil {
		return err
	}
	if settings.Mode == repositories.ChatAct {
		return h.act(c, f, body)
	}
	r, err := h.watch(c, f, body)
	if err != nil {
		return err
	}
	defer r.begin()
	return h.relay(c, f.path(), body, r)
}
