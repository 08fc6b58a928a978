package api

import (
	"cmp"
	"crypto/rand"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"earshot/repositories/secret"
)

// Options are what New needs. Store and Engine must be given; what else is missing
// has the default that its field names.
type Options struct {
	Store  Store
	Engine Engine
	// AdminKey is the bearer key that may do everything. Empty means that no key is
	// asked for: for development on loopback only, and refused elsewhere. Keys and
	// tokens that are sent all the same are honoured.
	AdminKey secret.Secret
	// Keys keeps the keys of apps, and Tokens signs those of sessions. Missing: there
	// are none.
	Keys   KeyStore
	Tokens Tokens
	// Origins knows which pages may call. Missing: none.
	Origins Origins
	// Identities verifies ID tokens. Missing: no user is ever verified.
	Identities Identities
	// Events is read by event streams. Missing: they answer 503.
	Events Events
	// Streams is how many event streams an app may have open here. Missing: 10,000.
	Streams int
	// Turns is how many messages and direct triggers are under work at once, and Requests
	// how many others, each fairly between apps; Waiting is how many of either kind wait
	// before further ones are answered 503. Missing: 512, 64 and 2,000.
	Turns, Requests, Waiting int
	// WriteTime is how long a client of HTTP/2 may take nothing of its answer; a
	// Listener bounds the others. Missing: 30 s.
	WriteTime time.Duration
	// Closing ends the event streams when it is closed. Missing: only their clients do.
	Closing <-chan struct{}
	// Ready lists what must answer before the service can work. Missing: nothing.
	Ready []Check
	// Logger gets one line for each request. Missing: slog.Default().
	Logger *slog.Logger
	// Metrics is shown at /metrics and gets the counter of requests. Missing: a
	// registry of its own.
	Metrics *prometheus.Registry
	// Traces makes the spans of the requests. Missing: spans are made, so that the
	// context travels on, and exported nowhere.
	Traces trace.TracerProvider
	// NewID makes the ids of messages and repositories whose client chose none.
	// Missing: 26 random letters and digits.
	NewID func() string
	// Now is the clock of log lines and of what expires. Missing: time.Now.
	Now func() time.Time
}

// New returns the handler of every route. It is safe for concurrent use.
func New(options Options) http.Handler {
	options = options.withDefaults()
	router := echo.New()
	router.HTTPErrorHandler = writeError
	table := options.routes()
	router.Use(
		traced(options.Traces),
		logged(options.Logger, options.Now),
		counted(options.Metrics),
		answered,
		recovered,
		hardened(options.WriteTime),
		crossOrigin(options.Origins),
	)
	if options.AdminKey.Empty() {
		router.Use(guarded(openPaths(table)))
	}
	router.Use(authenticated(options.authenticator(), openPaths(table)))
	may, gates := accessTable(), options.gates()
	for _, route := range table {
		route.register(router, may[route.method+" "+route.path], gates)
	}
	return router
}

func (o Options) authenticator() authenticator {
	return authenticator{admin: o.AdminKey, keys: o.Keys, tokens: o.Tokens, now: o.Now}
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
	if o.Traces == nil {
		o.Traces = sdktrace.NewTracerProvider()
	}
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.WriteTime == 0 {
		o.WriteTime = paceTime
	}
	o.Turns = cmp.Or(o.Turns, defaultTurns)
	o.Requests = cmp.Or(o.Requests, defaultRequests)
	o.Waiting = cmp.Or(o.Waiting, defaultWaiting)
	if o.Streams == 0 {
		o.Streams = mostStreams
	}
	if o.Keys == nil {
		o.Keys = noKeys{}
	}
	if o.Tokens == nil {
		o.Tokens = noTokens{}
	}
	return o
}
