// Package gateway is an OpenAI-compatible endpoint between chat clients and their model. It relays the
// model's answer byte for byte as it arrives, and matches the user's last message in the background
// (settings.openai.mode "watch"), or offers the tools in scope to the model ("act").
//
// In watch mode matching never delays a relayed byte, even if the store or matcher is slow or fails.
package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"earshot/api/answer"
	"earshot/api/server"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// Limits of the relay.
const (
	MaxBody    = 16 << 20 // the longest request, in bytes: a conversation with pictures
	smallBody  = 64 << 10 // the longest request that is parsed before the model begins to answer, in bytes
	firstRead  = 16 << 10 // the initial read buffer of a request, in bytes
	maxPosting = 4096     // how many messages are being posted at once
)

// Model is the OpenAI-compatible upstream of chats.
type Model struct {
	// BaseURL includes its version; empty if none is configured.
	BaseURL string
	Key     secret.Secret // its API key, hidden from clients; empty for none
	// Redact masks the key in a text.
	Redact func(text string) string
	// Headers lists further headers that pass both ways; a final * matches any rest. CheckHeaders validates
	// them.
	Headers []string
	// Transport sends its requests. It must not decompress answers.
	Transport http.RoundTripper
	// Arguments parses the arguments of a model's call. Its error is for the model.
	Arguments func(text string) (arguments map[string]any, repaired bool, err error)
	// Read checks arguments against the conversation, and also returns them normalized.
	Read func(request matcher.Request, arguments map[string]any, tool *repositories.Tool) (parameters.Reading, map[string]any)
}

// Engine matches messages and fires tools.
type Engine interface {
	// PostAsync returns as soon as a message is stored. A repeated id fires nothing.
	PostAsync(ctx context.Context, message trigger.Message) (messageID string, err error)
	// Post returns the answer to a message, the JSON of a query.Answer: the same bytes for each repeat.
	Post(ctx context.Context, message trigger.Message) (json.RawMessage, error)
	// Fire fires a tool and returns the JSON of a query.Match; for a repeated id, that of the first time.
	Fire(ctx context.Context, direct trigger.Direct) (json.RawMessage, error)
	Triggers(ctx context.Context, query query.Triggers) (items []query.Record, next string, err error)
	History(ctx context.Context, asked query.History) (items []query.Entry, next string, err error)
	// Offered lists the tools in scope to offer a model: of more than most those nearest to the texts, the first before
	// the next. The zone is the user's; empty if unknown.
	Offered(ctx context.Context, appID, sessionID string, texts []string, most int, claims parameters.Claims) (tools []matcher.Candidate, zone string, err error)
	// EndChat records the end of a request whose model is offered the tools in scope. FiredLength returns the largest
	// length of such a request that fired tools; 0 for none.
	EndChat(ctx context.Context, of ledger.Turn, end trigger.ChatEnd) error
	FiredLength(ctx context.Context, of ledger.Turn) (length int, err error)
	// Count counts a use against the limits per minute, and fails with a *ledger.RateError.
	Count(ctx context.Context, appID, sessionID string, use ledger.Use) error
	// Background runs a function outside of any request. Its context ends with the engine, and shutdown
	// waits for it.
	Background(run func(ctx context.Context))
}

// Settings returns an app's chat mode and its model limits. It fails with repositories.ErrNotFound without
// the app.
type Settings interface {
	ChatSettings(ctx context.Context, appID string) (repositories.OpenAI, error)
}

// Generations returns the generations of an app and a session, which distinguish them from earlier ones with their ids.
type Generations interface {
	CachedGeneration(ctx context.Context, appID, sessionID string) (store.Generation, error)
}

// Options configures New.
type Options struct {
	Engine      Engine
	Settings    Settings
	Generations Generations
	Model       Model
	// Users verifies the ID tokens in a header. It returns their claims, and faults by service.
	Users func(ctx context.Context, appID string, header http.Header) (claims parameters.Claims, faults map[string]string, err error)
	// Trace returns the W3C trace context of a request.
	Trace   func(ctx context.Context) string
	Now     func() time.Time // the clock for words such as tomorrow
	Logger  *slog.Logger
	Metrics prometheus.Registerer
}

// Handler relays chats to a model. It is safe for concurrent use.
type Handler struct {
	Options
	url     string
	metrics metrics
	posting chan struct{} // one element per message being posted
	buffers sync.Pool
}

// metrics counts relayed requests and their messages. The metric names are public.
type metrics struct{ requests, messages *prometheus.CounterVec }

// New returns the handler of a model's endpoint.
func New(options Options) *Handler {
	outcome := []string{"outcome"}
	return &Handler{
		Options: options, url: strings.TrimRight(options.Model.BaseURL, "/"),
		metrics: metrics{
			requests: server.Counter(options.Metrics, "earshot_openai_requests_total",
				"Requests to the model behind the endpoint for chats, by outcome: answered, whatever its status, unreachable, broken, or left by the client.",
				outcome, "answered", "unreachable", "broken", "left"),
			messages: server.Counter(options.Metrics, "earshot_openai_messages_total",
				"Messages of relayed chats, by outcome: kept, limited by a rate, failed, or dropped for lack of room.",
				outcome, "kept", "limited", "failed", "dropped"),
		},
		posting: make(chan struct{}, maxPosting), buffers: sync.Pool{New: func() any { return new([relayed]byte) }},
	}
}

// Models relays the list of models, or the model that the path names.
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

// chat relays a request. It reads the whole body first: about one answer in twenty breaks if the model
// answers before the body ends. The memory was reserved during reading (see ratelimit.Memory).
func (h *Handler) chat(c echo.Context, f form) error {
	settings, err := h.Settings.ChatSettings(c.Request().Context(), c.Param("appId"))
	if err != nil {
		return err
	}
	var buffer bytes.Buffer
	buffer.Grow(int(min(max(c.Request().ContentLength, 0), firstRead)) + bytes.MinRead)
	if _, err := buffer.ReadFrom(c.Request().Body); err != nil {
		return answer.Unread(err)
	}
	body, err := h.limit(f, settings.Limits, buffer.Bytes())
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

// form is an API format of the model: chat completions or responses. There is one per request, and it tracks
// how much of the answer the client has.
type form interface {
	// path returns the endpoint's path below the model's URL.
	path() string
	// resume restores a body that refers to rewritten ids, so that the model's host knows them.
	resume(body []byte) []byte
	// list returns the field with the messages; orText reports that a plain user text is allowed instead.
	list() (field string, orText bool)
	// lengths returns the fields that bound the answer's length, the default one first.
	lengths(openAI bool) []string
	offers(c *chat) bool
	// tool writes a tool for the model.
	tool(name, description string, schema any) []byte
	called(calls []call, results []result) [][]byte
	// whole processes an unstreamed answer. It returns edits for the client, or that the model must be
	// asked again.
	whole(a *acting, text []byte) (edits []edit, retry bool)
	// stream returns the processor of a streamed answer.
	stream(a *acting) stream
	// fault writes an error as the last event of a stream.
	fault(problem []byte) []byte
}

// stream processes the streamed answer of a round.
type stream interface {
	// take processes an event with a JSON object, and returns the client's part.
	take(event []byte, data span) ([]byte, error)
	// silent reports whether the rest of the round is hidden from the client.
	silent() bool
	// end ends the round and reports whether to ask the model again. It fails if the answer is incomplete.
	end() (retry bool, err error)
}

// sums lists the token counts that are added up over the rounds.
var sums = []string{"prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "total_tokens"}
