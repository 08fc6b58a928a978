package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"earshot/api/gateway"
	"earshot/api/natsrpc"
	"earshot/api/sermas"
	"earshot/api/server"
	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/redisdb"
	"earshot/emitter"
	"earshot/httpcall/guard"
	"earshot/matcher/llm"
	"earshot/repositories/audit"
	"earshot/repositories/certfiles"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// config holds the settings of a service. Each field is a flag, and most have an environment variable as well;
// the flag has precedence.
type config struct {
	Addr          string
	RedisURL      secret.Secret   // may hold a password
	NATSURL       secret.Secret   // may hold a password
	RedisTLS      certfiles.Files // for rediss://
	NATSLogin     emitter.Login
	ownNATS       string  // URL of the embedded server of dev
	localPages    bool    // pages of this machine may call
	screen        *screen // shows activity; nil: it is logged
	OpenAIKey     secret.Secret
	OpenAIBaseURL string
	OpenAIModel   string
	Embedding     llm.Config // the embedding model; without a model there is none
	Anthropic     llm.Config
	Gemini        llm.Config
	Cohere        llm.Config
	AdminKey      secret.Secret
	SecretKey     secret.Secret
	generatedKey  bool // the secret key was generated
	OldSecretKey  secret.Secret
	PrivateURLs   string
	RelayHeaders  []string
	Proxies       string
	SQLiteDir     string
	LLMTimeout    time.Duration
	History       int
	SessionTTL    time.Duration
	Retention     store.Retention
	ExplainShare  float64
	Audit         audit.Log
	MetricsApps   int
	LogTexts      bool
	LogFormat     string
	LogLevel      string
	NATSReplicas  int
	StreamMaxAge  time.Duration
	StreamMax     size
	MaxTurns      int
	MaxRequests   int
	MaxWaiting    int
	StrictRedis   bool
	RedisReplicas keyspace.Replicas
	Drain         time.Duration
	NATSIngress   choice // keys: of those with a key alone
	NATSReplies   string
	SERMAS        choice
	SERMASTTL     time.Duration // of SERMAS clients' tokens
	TLSCert       string
	TLSKey        string
	flags         *pflag.FlagSet // of register; nil without
}

const (
	// defaultDrain is how long load balancers commonly take to notice. With shutdownTimeout it is less than the
	// 30 s before Kubernetes kills.
	defaultDrain   = 5 * time.Second
	maxMetricsApps = 10_000
	maxDrain       = 10 * time.Minute // longer than any load balancer takes
)

// register declares the flags. Defaults never come from the environment, so that --help prints no credential.
func (c *config) register(flags *pflag.FlagSet) {
	c.flags = flags
	s := settings{flags}
	s.group("Address", c.registerAddress)
	s.group("Keys", func(s settings) {
		s.credential(&c.AdminKey, "admin-key", "EARSHOT_ADMIN_KEY", "bearer `KEY` that may do everything")
		s.secretKeys(c)
	})
	s.group("Redis", func(s settings) {
		s.credential(&c.RedisURL, "redis-url", "REDIS_URL", "`URL` of Redis: redis://user:password@host:port/db, or rediss:// with TLS. Several comma-separated hosts are a Redis Cluster. redis+sentinel://hosts/master/db is the master of that name behind sentinels; ?sentinel_password= is their own password")
		s.tls("Redis", &c.RedisTLS)
		s.BoolVar(&c.StrictRedis, "strict-redis", false, "refuse a Redis that may lose what it has accepted, instead of a warning. It has no append-only file, replicas without min-replicas-to-write, or settings that cannot be read")
		s.number(&c.RedisReplicas.Count, "redis-wait", "EARSHOT_REDIS_WAIT", 0, "Redis replicas that must have a message and its decision before it is answered; else the answer is 503")
		s.duration(&c.RedisReplicas.Timeout, "redis-wait-timeout", "EARSHOT_REDIS_WAIT_TIMEOUT", redisdb.DefaultReplicaWait, "how long to wait for these replicas")
	})
	s.group("NATS", c.registerNATS)
	s.group("Models", c.registerModels)
	s.group("Calls and sources", func(s settings) {
		s.text(&c.PrivateURLs, "private-urls", "EARSHOT_PRIVATE_URLS", "deny", "private addresses that tools may call and databases may have: deny, allow, or comma-separated CIDRs")
		s.text(&c.SQLiteDir, "sqlite-dir", "EARSHOT_SQLITE_DIR", "", "`FOLDER` of the files of sqlite sources. Without it there are no such sources")
	})
	s.group("Retention", c.registerRetention)
	s.group("Limits", func(s settings) {
		s.number(&c.MaxTurns, "max-turns", "EARSHOT_MAX_TURNS", 512, "messages and direct triggers in progress on this replica at once. One app has at most half; further ones are answered 503 with Retry-After")
		s.number(&c.MaxRequests, "max-requests", "EARSHOT_MAX_REQUESTS", 64, "other requests in progress at once, each up to some megabytes. One app has at most half")
		s.number(&c.MaxWaiting, "max-waiting", "EARSHOT_MAX_WAITING", 2000, "requests of either kind that wait, up to 10s. One app has at most half; further ones are answered 503 with Retry-After")
	})
	s.group("Logs and metrics", func(s settings) {
		s.text(&c.LogLevel, "log-level", "EARSHOT_LOG_LEVEL", "info", "the least important lines that are logged: debug, info, warn or error")
		s.text(&c.LogFormat, "log-format", "EARSHOT_LOG_FORMAT", "json", "form of the lines: json, or text (words with name=value)")
		s.BoolVar(&c.LogTexts, "log-texts", false, "write the texts of messages to the log")
		s.annotate("log-texts", "EARSHOT_LOG_TEXTS")
		s.number(&c.MetricsApps, "metrics-apps", "EARSHOT_METRICS_APPS", 0, "apps that metrics name, at most 10,000: the first that use a replica. All others count as (other). 0: no metric is by app. /metrics needs no key and shows the names")
	})
	s.group("SERMAS", func(s settings) {
		c.SERMAS = choice{"off", "on|off"}
		s.flagValue(&c.SERMAS, "sermas", "EARSHOT_SERMAS", "serve the clients of SERMAS, at /api and /mqtt: on or off")
		s.duration(&c.SERMASTTL, "sermas-token-ttl", "EARSHOT_SERMAS_TOKEN_TTL", sermas.DefaultTokenTTL, "how long tokens of SERMAS's clients are valid, 35s to 576h (24 days). A client renews its token 30s before the end")
	})
}

func (c *config) registerAddress(s settings) {
	s.text(&c.Addr, "addr", "EARSHOT_ADDR", "127.0.0.1:8080", "address to listen on")
	s.text(&c.TLSCert, "tls-cert", "EARSHOT_TLS_CERT", "", "`FILE` with the certificate for HTTPS, and its chain. A renewed file is served within 10s")
	s.text(&c.TLSKey, "tls-key", "EARSHOT_TLS_KEY", "", "`FILE` with the private key of the certificate")
	s.text(&c.Proxies, "trusted-proxies", "EARSHOT_TRUSTED_PROXIES", "", "comma-separated `ADDRESSES` or CIDRs of proxies whose X-Forwarded-For names the client. Without it, all clients behind a proxy share one address, and its pauses after wrong credentials")
	s.duration(&c.Drain, "drain", "EARSHOT_DRAIN", defaultDrain, "how long a replica continues after SIGTERM, with /readyz at 503 and each connection closed after its answer. Choose more than a load balancer takes to notice. 0s, Ctrl-C and a second signal end it at once")
}

func (c *config) registerNATS(s settings) {
	s.credential(&c.NATSURL, "nats-url", "NATS_URL", "`URL` of NATS with JetStream: nats://user:password@host:port, tls:// with TLS, ws:// or wss:// over WebSocket. Separate the servers of a cluster with commas")
	s.login(&c.NATSLogin)
	s.IntVar(&c.NATSReplicas, "nats-replicas", 0, "servers of a NATS cluster that hold the stream; 0 keeps the present number")
	s.duration(&c.StreamMaxAge, "stream-max-age", "EARSHOT_STREAM_MAX_AGE", emitter.DefaultMaxAge, "how long the stream keeps events")
	c.StreamMax = defaultStreamSize
	s.flagValue(&c.StreamMax, "stream-max-bytes", "EARSHOT_STREAM_MAX_BYTES", "`SIZE` of the stream, as in 4GiB, 512MiB or a number of bytes. A full stream refuses events, which stay pending until there is room")
	c.NATSIngress = choice{"off", "on|keys|off"}
	s.flagValue(&c.NATSIngress, "nats-ingress", "EARSHOT_NATS_INGRESS", "take requests over NATS too, on earshot.v1.>: on, keys or off. With keys each request needs a key of its app. With on, anyone who may publish there has the admin's rights")
	s.text(&c.NATSReplies, "nats-replies", "EARSHOT_NATS_REPLIES", natsrpc.DefaultReplies, "comma-separated `PREFIXES` of subjects for replies to these requests, for clients with their own inbox prefix. > is any subject but the service's own")
}

func (c *config) registerRetention(s settings) {
	s.duration(&c.SessionTTL, "session-ttl", "EARSHOT_SESSION_TTL", 24*time.Hour, "idle time after which a session and its repositories expire")
	s.number(&c.Retention.Messages, "session-messages", "EARSHOT_SESSION_MESSAGES", store.DefaultSessionMessages, "newest messages that stay in the history of a session. Older ones and their ids are forgotten")
	s.duration(&c.Retention.Done, "retention", "EARSHOT_RETENTION", store.DefaultRetention, "how long records of triggers that have delivered everything are kept. A triggerId is known for as long")
	s.duration(&c.Retention.Dead, "dead-retention", "EARSHOT_DEAD_RETENTION", store.DefaultDeadRetention, "how long records of failed triggers are kept, with what can be retried")
	s.duration(&c.Retention.Explain, "explain-retention", "EARSHOT_EXPLAIN_RETENTION", store.DefaultExplain, "how long explanations of messages are kept")
	s.Float64Var(&c.ExplainShare, "explain-share", 1, "`SHARE` of messages that keep an explanation, 0 to 1, if all their calls fired and nobody asked why. Other messages always keep one")
	s.annotate("explain-share", "EARSHOT_EXPLAIN_SHARE")
	s.number(&c.Audit.Entries, "audit-entries", "EARSHOT_AUDIT_ENTRIES", audit.DefaultEntries, "newest entries of an app's audit list that are kept")
	s.duration(&c.Audit.Retention, "audit-retention", "EARSHOT_AUDIT_RETENTION", audit.DefaultRetention, "how long entries of an audit list are kept; the default is 400 days")
}

func (c *config) registerModels(s settings) {
	s.credential(&c.OpenAIKey, "openai-api-key", "OPENAI_API_KEY", "`KEY` of the LLM. Without a key and a base URL the rule-based matcher decides")
	s.text(&c.OpenAIBaseURL, "openai-base-url", "OPENAI_BASE_URL", "", "`URL` of any OpenAI-compatible endpoint, up to its version")
	s.text(&c.OpenAIModel, "openai-model", "OPENAI_MODEL", llm.DefaultModel, "model if the settings of an app name none")
	s.text(&c.Embedding.Model, "openai-embedding-model", "OPENAI_EMBEDDING_MODEL", "", "model that ranks tools by meaning beside their words, as text-embedding-3-small. It ranks when a model is offered some of many tools, and in searches for tools")
	s.text(&c.Embedding.BaseURL, "openai-embedding-base-url", "OPENAI_EMBEDDING_BASE_URL", "", "`URL` of its endpoint, if it is not OPENAI_BASE_URL")
	s.credential(&c.Embedding.Key, "openai-embedding-api-key", "OPENAI_EMBEDDING_API_KEY", "`KEY` of its endpoint. OPENAI_API_KEY goes to the endpoint of the LLM only")
	for _, provider := range []struct {
		target *llm.Config
		name   string
		suffix string
	}{
		{&c.Anthropic, "Anthropic", ""},
		{&c.Gemini, "Gemini", ". One that ends in /projects/P/locations/L is Vertex AI's, and takes Google's default credentials without a key"},
		{&c.Cohere, "Cohere", ""},
	} {
		flag, env := strings.ToLower(provider.name), strings.ToUpper(provider.name)
		s.credential(&provider.target.Key, flag+"-api-key", env+"_API_KEY", "`KEY` for "+provider.name+"'s own API, the default LLM if OpenAI is not configured")
		s.text(&provider.target.BaseURL, flag+"-base-url", env+"_BASE_URL", "", "`URL` of "+provider.name+"'s own API at another address"+provider.suffix)
		s.text(&provider.target.Model, flag+"-model", env+"_MODEL", "", "model of "+provider.name+" if the settings of an app name none; default: a small one")
	}
	s.duration(&c.LLMTimeout, "llm-timeout", "EARSHOT_LLM_TIMEOUT", llm.DefaultTimeout, "time for one LLM request, including its search for tools")
	s.number(&c.History, "history", "EARSHOT_HISTORY", llm.DefaultHistory, "messages of history that the matcher sees")
	s.StringSliceVar(&c.RelayHeaders, "relay-headers", nil, "comma-separated `HEADERS` that also pass both ways between chat clients and the model's host. A * at the end stands for any rest, as in X-Gateway-*")
	s.annotate("relay-headers", "EARSHOT_RELAY_HEADERS")
}

func (c *config) check() error {
	var faults []error
	add := func(isFault bool, format string, args ...any) {
		if isFault {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	addErr := func(setting string, err error) { add(err != nil, setting+": %w", err) }
	add(c.LLMTimeout <= 0, "--llm-timeout (EARSHOT_LLM_TIMEOUT) is %s; it must be more than 0, as in 20s", c.LLMTimeout)
	add(c.History < 0, "--history (EARSHOT_HISTORY) is %d; it must be 0 or more", c.History)
	add(c.SessionTTL < time.Second, "--session-ttl (EARSHOT_SESSION_TTL) is %s; it must be a second or more, as in 24h", c.SessionTTL)
	add(c.Retention.Done < time.Second, "--retention (EARSHOT_RETENTION) is %s; it must be a second or more, as in 168h", c.Retention.Done)
	add(c.Retention.Dead < time.Second, "--dead-retention (EARSHOT_DEAD_RETENTION) is %s; it must be a second or more, as in 720h", c.Retention.Dead)
	add(c.Retention.Explain < time.Second, "--explain-retention (EARSHOT_EXPLAIN_RETENTION) is %s; it must be a second or more, as in 24h", c.Retention.Explain)
	add(!(c.ExplainShare >= 0 && c.ExplainShare <= 1), "--explain-share (EARSHOT_EXPLAIN_SHARE) is %v; it must be 0 to 1, as in 0.1", c.ExplainShare)
	c.Retention.Unexplained = 1 - c.ExplainShare
	add(c.Retention.Messages < 1, "--session-messages (EARSHOT_SESSION_MESSAGES) is %d; it must be 1 or more", c.Retention.Messages)
	add(c.Audit.Entries < 1, "--audit-entries (EARSHOT_AUDIT_ENTRIES) is %d; it must be 1 or more", c.Audit.Entries)
	add(c.Audit.Retention < time.Second, "--audit-retention (EARSHOT_AUDIT_RETENTION) is %s; it must be a second or more, as in 9600h", c.Audit.Retention)
	add(c.MetricsApps < 0 || c.MetricsApps > maxMetricsApps, "--metrics-apps (EARSHOT_METRICS_APPS) is %d; it must be 0 to %d: each app has 11 time series on each replica", c.MetricsApps, maxMetricsApps)
	add(c.StreamMaxAge < time.Second, "--stream-max-age (EARSHOT_STREAM_MAX_AGE) is %s; it must be a second or more, as in 168h", c.StreamMaxAge)
	add(c.SERMASTTL < sermas.MinTokenTTL || c.SERMASTTL > sermas.MaxTokenTTL, "--sermas-token-ttl (EARSHOT_SERMAS_TOKEN_TTL) is %s; it must be %s to %s (24 days), as in 5m: clients renew a token 30s before its end", c.SERMASTTL, sermas.MinTokenTTL, sermas.MaxTokenTTL)
	add(c.RedisReplicas.Count < 0, "--redis-wait (EARSHOT_REDIS_WAIT) is %d; it must be 0 or more", c.RedisReplicas.Count)
	add(c.RedisReplicas.Timeout < time.Millisecond || c.RedisReplicas.Timeout >= redisdb.ReadTimeout,
		"--redis-wait-timeout (EARSHOT_REDIS_WAIT_TIMEOUT) is %s; it must be 1ms or more and below %s", c.RedisReplicas.Timeout, redisdb.ReadTimeout)
	add(c.Drain < 0 || c.Drain > maxDrain, "--drain (EARSHOT_DRAIN) is %s; it must be 0 to %s, as in 5s", c.Drain, maxDrain)
	const least = "it must be 2 or more, for one app has at most half"
	add(c.MaxTurns < 2, "--max-turns (EARSHOT_MAX_TURNS) is %d; %s", c.MaxTurns, least)
	add(c.MaxRequests < 2, "--max-requests (EARSHOT_MAX_REQUESTS) is %d; %s", c.MaxRequests, least)
	add(c.MaxWaiting < 2, "--max-waiting (EARSHOT_MAX_WAITING) is %d; %s", c.MaxWaiting, least)
	if !c.RedisURL.Empty() {
		_, err := redisdb.ParseURL(c.RedisURL.Reveal())
		faults = append(faults, err)
	}
	if !c.NATSURL.Empty() {
		addErr("NATS_URL (--nats-url)", emitter.CheckURLs(c.NATSURL.Reveal()))
	}
	add((c.TLSCert == "") != (c.TLSKey == ""), "--tls-cert and --tls-key (EARSHOT_TLS_CERT, EARSHOT_TLS_KEY) go together: they are %q and %q, and one is missing", c.TLSCert, c.TLSKey)
	_, err := c.level()
	faults = append(faults, err)
	add(c.LogFormat != "json" && c.LogFormat != "text", "--log-format (EARSHOT_LOG_FORMAT) is %q; it must be json or text", c.LogFormat)
	_, err = guard.ParsePolicy(c.PrivateURLs)
	addErr("--private-urls (EARSHOT_PRIVATE_URLS)", err)
	addErr("--relay-headers (EARSHOT_RELAY_HEADERS)", gateway.CheckHeaders(c.RelayHeaders))
	_, err = server.ParseProxies(c.Proxies)
	addErr("--trusted-proxies (EARSHOT_TRUSTED_PROXIES)", err)
	if !c.SecretKey.Empty() {
		_, err = c.sealer()
		faults = append(faults, err)
	}
	add(c.NATSIngress.word == "keys" && c.lacks(c.AdminKey, "admin-key"), "--nats-ingress (EARSHOT_NATS_INGRESS) is keys, and no key is asked for here: give EARSHOT_ADMIN_KEY (--admin-key) as well")
	_, err = natsrpc.ParseReplies(c.NATSReplies)
	addErr("--nats-replies (EARSHOT_NATS_REPLIES)", err)
	faults = append(faults, c.checkAddresses())
	add(strings.ContainsFunc(c.AdminKey.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' }),
		"EARSHOT_ADMIN_KEY (--admin-key) has a space or a character outside of ASCII in it, and cannot be sent as a bearer key: %s", makeKey)
	return errors.Join(faults...)
}

func (c *config) checkAddresses() error {
	var faults []error
	for _, one := range []struct{ name, value, example string }{
		{"OPENAI_BASE_URL (--openai-base-url)", c.OpenAIBaseURL, "https://api.openai.com/v1"},
		{"OPENAI_EMBEDDING_BASE_URL (--openai-embedding-base-url)", c.Embedding.BaseURL, "http://127.0.0.1:8082/v1"},
		{"ANTHROPIC_BASE_URL (--anthropic-base-url)", c.Anthropic.BaseURL, "https://api.anthropic.com"},
		{"GEMINI_BASE_URL (--gemini-base-url)", c.Gemini.BaseURL, "https://generativelanguage.googleapis.com"},
		{"COHERE_BASE_URL (--cohere-base-url)", c.Cohere.BaseURL, "https://api.cohere.com"},
	} {
		parsed, err := url.Parse(one.value)
		if one.value == "" || err == nil && parsed.Hostname() != "" && (parsed.Scheme == "https" || parsed.Scheme == "http") {
			continue
		}
		faults = append(faults, fmt.Errorf("%s is %q; it must be a URL with http or https, as in %s", one.name, client.Redacted(one.value), one.example))
	}
	_, err := c.embedder()
	return errors.Join(append(faults, err)...)
}

// embedder returns the endpoint of the embedding model: its own, or that of the LLM. Without a model there is
// none.
func (c *config) embedder() (llm.Config, error) {
	embedding := c.Embedding
	switch {
	case embedding.Model == "" && (embedding.BaseURL != "" || !embedding.Key.Empty()):
		return embedding, errors.New("OPENAI_EMBEDDING_BASE_URL or OPENAI_EMBEDDING_API_KEY is set, but no model: set OPENAI_EMBEDDING_MODEL (--openai-embedding-model), as in text-embedding-3-small")
	case embedding.Model == "" || embedding.BaseURL != "" || !embedding.Key.Empty():
		return embedding, nil
	case c.OpenAIBaseURL == "" && c.OpenAIKey.Empty():
		return embedding, fmt.Errorf("OPENAI_EMBEDDING_MODEL (--openai-embedding-model) is %q, but no endpoint is configured: set OPENAI_API_KEY, OPENAI_BASE_URL or OPENAI_EMBEDDING_BASE_URL", embedding.Model)
	}
	return llm.Config{Key: c.OpenAIKey, BaseURL: c.OpenAIBaseURL, Model: embedding.Model}, nil
}

// checkFiles returns the faults of files at start, before the first connection.
func (c *config) checkFiles(now time.Time) error {
	var faults []error
	if c.TLSCert != "" && c.TLSKey != "" {
		_, err := c.certificate().read(now)
		faults = append(faults, err)
	}
	if !c.RedisURL.Empty() { // otherwise dev has an embedded one
		faults = append(faults, redisdb.CheckFiles(c.RedisURL.Reveal(), c.RedisTLS, now))
	}
	if !c.NATSURL.Empty() {
		faults = append(faults, c.NATSLogin.Check(c.NATSURL.Reveal(), now))
	}
	if c.SQLiteDir != "" {
		if info, err := os.Stat(c.SQLiteDir); err != nil || !info.IsDir() {
			faults = append(faults, fmt.Errorf("--sqlite-dir (EARSHOT_SQLITE_DIR) is %q, which is not a folder that this user can read", c.SQLiteDir))
		}
	}
	return errors.Join(faults...)
}

func (c *config) certificate() certificateFiles { return certificateFiles{c.TLSCert, c.TLSKey} }

const (
	weakKey = 16 // the length below which an admin key may be guessed, in characters
	makeKey = "make one with: head -c 32 /dev/urandom | base64"
)

func (c *config) level() (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return level, fmt.Errorf("--log-level (EARSHOT_LOG_LEVEL) is %q; it must be debug, info, warn or error", c.LogLevel)
	}
	return level, nil
}

// logger returns a logger at the configured level: to the screen if there is one, otherwise as JSON or text.
func (c *config) logger(out io.Writer) *slog.Logger {
	level, _ := c.level() // checked by check
	if c.screen != nil {
		return slog.New(screenLog{screen: c.screen, level: level})
	}
	options := &slog.HandlerOptions{Level: level}
	if sink, isJournal := out.(journal); isJournal {
		out = byLevel(sink)
	}
	if c.LogFormat == "text" {
		return slog.New(slog.NewTextHandler(out, options))
	}
	return slog.New(slog.NewJSONHandler(out, options))
}

// sealer encrypts with the secret key, and also decrypts with the key before a rotation.
func (c *config) sealer() (*store.Sealer, error) {
	key, err := secretKey("EARSHOT_SECRET_KEY (--secret-key)", c.SecretKey)
	var old [][]byte
	if err == nil && !c.OldSecretKey.Empty() {
		old = make([][]byte, 1)
		old[0], err = secretKey("EARSHOT_SECRET_KEY_OLD (--secret-key-old)", c.OldSecretKey)
	}
	if err != nil {
		return nil, err
	}
	return store.NewSealer(key, old...)
}

func secretKey(name string, text secret.Secret) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(text.Reveal())
	found := fmt.Sprintf("%d bytes", len(key))
	if err != nil {
		found = "not base64"
	}
	if err != nil || len(key) != store.KeySize {
		return nil, fmt.Errorf("%s must be %d bytes in base64, and is %s; make one with: head -c %d /dev/urandom | base64",
			name, store.KeySize, found, store.KeySize)
	}
	return key, nil
}

// lacks reports whether nobody gave a credential. One that could not be read was given, and is at fault already.
func (c *config) lacks(value secret.Secret, flag string) bool {
	return value.Empty() && (c.flags == nil || c.flags.Lookup(flag).Annotations[unreadAnnotation] == nil)
}

func (c *config) required() error {
	var faults []error
	for _, need := range []struct {
		value           secret.Secret
		flag, name, why string
	}{
		{c.RedisURL, "redis-url", "REDIS_URL", "the Redis that holds all state"},
		{c.NATSURL, "nats-url", "NATS_URL", "the NATS server that events go to"},
		{c.AdminKey, "admin-key", "EARSHOT_ADMIN_KEY", "the key that operators call with"},
		{c.SecretKey, "secret-key", "EARSHOT_SECRET_KEY", "32 bytes in base64 that encrypt stored credentials"},
	} {
		if c.lacks(need.value, need.flag) {
			faults = append(faults, fmt.Errorf("%s is not set: %s", need.name, need.why))
		}
	}
	if len(faults) > 0 {
		faults = append(faults, errors.New("to try Earshot without any of this, run: earshot dev"))
	}
	return errors.Join(faults...)
}
