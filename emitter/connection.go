package emitter

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"earshot/repositories/certfiles"
)

const (
	// reconnectWait is the pause between two rounds over the servers. It is short, as every event waits for it,
	// and has jitter, so that replicas do not reconnect together.
	reconnectWait = 500 * time.Millisecond
	// pingInterval times maxPings is how long a dead connection stays unnoticed; the library's default is 4
	// minutes.
	pingInterval = 10 * time.Second
	maxPings     = 2
)

// Dial connects to a comma-separated list of NATS servers, for uses other than events. Servers see the name;
// trouble gets asynchronous errors. The error shows no credential.
func Dial(list, name string, login Login, trouble nats.ErrHandler) (*nats.Conn, error) {
	hosts, err := servers(list)
	if err != nil {
		return nil, err
	}
	conn, err := connect(list, login, nats.Name(name), nats.ErrorHandler(trouble))
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", hosts, err)
	}
	return conn, nil
}

// connect opens a connection that reconnects forever.
func connect(list string, login Login, extra ...nats.Option) (*nats.Conn, error) {
	options, err := login.Options()
	if err != nil {
		return nil, err
	}
	options = append(options,
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPings),
		// Credentials change on servers and clients at different times.
		nats.IgnoreAuthErrorAbort(),
	)
	conn, err := nats.Connect(list, append(options, extra...)...)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return nil, wrapped.Err // the error of net/url contains the URL
	}
	return conn, err
}

var (
	errDenied        error = &public{errors.New("the NATS user of Earshot has no permission"), "refuses events: it denies them to the user"}
	errAnswersDenied       = errors.New("the NATS user of Earshot has no permission for what stream " + AnswerStream + " needs")
	errLost                = errors.New("the connection to NATS was lost before the answer came")
)

const (
	// denialTTL is how long a subject counts as denied: longer than the longest retry pause.
	denialTTL = 5 * time.Minute
	maxDenied = 100
	// maxReported bounds the log lines of one outage with alternating errors.
	maxReported = 5
)

// link follows outages and permission violations, which a server reports asynchronously. The client library
// would wait for the timeout; link ends requests that will get no answer.
type link struct {
	logger *slog.Logger
	hosts  string
	now    func() time.Time

	mu       sync.Mutex
	pending  map[*request]struct{} // for an answer
	reported map[string]bool       // error texts of this outage
	last     error                 // the last error of this outage

	deniedAt      map[string]time.Time // when subjects were last denied
	inbox         string               // the denied inbox subject, which carries all answers
	deniedAnswers map[string]bool      // denied subjects of AnswerStream
}

// request waits for an answer; its subject is that of the event, AnswerStream, or empty.
type request struct {
	subject string
	cancel  context.CancelFunc
	cause   error // why no answer can arrive any more; nil if one can
}

// track registers a request, whose cancel is called when no answer can arrive any more. Call it before reading the
// connection's state, so that no loss in between is missed. denied reports that no answer can arrive.
func (l *link) track(subject string, cancel context.CancelFunc) (tracked *request, denied error) {
	tracked = &request{subject: subject, cancel: cancel}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending[tracked] = struct{}{}
	if l.inbox != "" {
		denied = fmt.Errorf("%w for %q", errDenied, l.inbox)
	}
	return tracked, denied
}

// untrack removes a request, and returns why it was ended; nil if it was not.
func (l *link) untrack(tracked *request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, tracked)
	return tracked.cause
}

// cancelRequests ends the requests whose subject matches. The caller holds l.mu.
func (l *link) cancelRequests(cause error, matches func(subject string) bool) {
	for pendingRequest := range l.pending {
		if matches(pendingRequest.subject) && pendingRequest.cause == nil {
			pendingRequest.cause = cause
			pendingRequest.cancel()
		}
	}
}

func (l *link) connected(conn *nats.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.reported)
	l.last = nil
	l.logger.Info("connected to NATS", "servers", l.hosts, "server", conn.ConnectedServerName())
}

// disconnected ends all requests, and clears denials: a new connection may have other permissions.
func (l *link) disconnected(_ *nats.Conn, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancelRequests(errLost, func(string) bool { return true })
	if err == nil {
		return // closed by ourselves
	}
	clear(l.deniedAt)
	clear(l.deniedAnswers)
	l.inbox = ""
	l.logger.Warn("the connection to NATS is lost; events wait until it is back", "servers", l.hosts, "error", err)
}

func (l *link) connectFailed(_ *nats.Conn, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = err
	text := err.Error()
	if l.reported[text] || len(l.reported) == maxReported {
		return
	}
	l.reported[text] = true
	l.logger.Warn("NATS is not reached; events wait until it is", "servers", l.hosts, "error", err)
}

// violation matches a server's permission error.
var violation = regexp.MustCompile(`Permissions Violation for (Publish to|Subscription to|Publish with Reply of) "([^"]+)"`)

// asyncError handles asynchronous errors. A denial ends the requests that it concerns, and is logged once.
func (l *link) asyncError(conn *nats.Conn, _ *nats.Subscription, err error) {
	if !conn.IsConnected() {
		l.connectFailed(conn, err)
		return
	}
	match := violation.FindStringSubmatch(err.Error())
	isInbox := match != nil && match[1] != "Publish to" && strings.HasPrefix(match[2], nats.InboxPrefix) // carries all answers
	if match == nil || !errors.Is(err, nats.ErrPermissionViolation) || !isInbox && match[1] != "Publish to" {
		l.logger.Error("NATS reports an error", "servers", l.hosts, "error", err)
		return
	}
	subject := match[2]
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.Contains(subject+".", "."+AnswerStream+".") {
		prefix, _, _ := strings.Cut(subject, AnswerStream) // each acknowledgement has its own subject
		if !l.deniedAnswers[prefix] {
			l.deniedAnswers[prefix] = true
			l.logger.Error("answers.denied", "subject", subject,
				"error", "NATS denies this to the user of Earshot: answers that are published are not heard, those over REST are; allow it to publish on $JS.API.> and $JS.ACK."+AnswerStream+".>")
		}
		l.cancelRequests(fmt.Errorf("%w: %q", errAnswersDenied, subject), func(candidate string) bool { return candidate == AnswerStream })
		return
	}
	known := !l.deniedAt[subject].IsZero()
	if isInbox {
		known, l.inbox = l.inbox != "", subject
	} else if len(l.deniedAt) < maxDenied || known {
		l.deniedAt[subject] = l.now()
	}
	if !known {
		l.logger.Error("publish.denied", "subject", subject,
			"error", "NATS denies this to the user of Earshot; allow it to publish on the subjects of the events and on $JS.API.>, and to subscribe to _INBOX.>")
	}
	l.cancelRequests(fmt.Errorf("%w for %q", errDenied, subject), func(candidate string) bool {
		return isInbox || candidate == subject || candidate != AnswerStream && strings.HasPrefix(subject, "$JS.API.STREAM.") // every event needs these
	})
}

// clearDenial clears the denial of a subject after a successful publish.
func (l *link) clearDenial(subject string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, denied := l.deniedAt[subject]; denied {
		delete(l.deniedAt, subject)
		l.logger.Info("publish.allowed", "subject", subject)
	}
}

func (l *link) denied() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.deniedAt, func(_ string, last time.Time) bool { return l.now().Sub(last) > denialTTL })
	subjects := slices.Sorted(maps.Keys(l.deniedAt))
	if l.inbox != "" {
		subjects = append(subjects, l.inbox)
	}
	return subjects
}

// Login is the credentials and the trusted authorities of a connection. Files are read on each connect.
type Login struct {
	// Creds is a credentials file of nsc, with a user's JWT and seed, or a file with an nkey seed.
	Creds string
	// TLS requires TLS whatever the URLs are, if a file is named.
	TLS certfiles.Files
}

// Check returns all faults of the files, also against a list of servers. It shows no credential.
func (l Login) Check(list string, now time.Time) error {
	faults := []error{l.TLS.Check("NATS", now)}
	if l.Creds != "" {
		if err := checkCreds(l.Creds, now); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", credsSetting, err))
		}
	}
	for i, address := range strings.Split(list, ",") {
		parsed, err := parseServer(address)
		if err != nil {
			continue // CheckURLs reports it
		}
		if l.Creds != "" && parsed.User != nil {
			faults = append(faults, fmt.Errorf("%s is set, and NATS URL %d also has a user or a token: leave one of them out", credsSetting, i+1))
		}
		if !l.TLS.Empty() && parsed.Scheme == "ws" {
			faults = append(faults, fmt.Errorf("NATS_CA_FILE, NATS_CERT_FILE or NATS_KEY_FILE is set, but NATS URL %d is ws://, without TLS: begin it with wss://", i+1))
		}
	}
	return errors.Join(faults...)
}

var credsSetting = certfiles.Setting("NATS", "creds")

func checkCreds(path string, now time.Time) error {
	text, err := certfiles.Read(path)
	if err != nil {
		return err
	}
	pair, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		return errNoCreds
	}
	defer pair.Wipe()
	id, err := pair.PublicKey()
	if err != nil || !isJWT(text) {
		return err
	}
	token, err := nkeys.ParseDecoratedJWT(text)
	if err != nil {
		return errNoCreds
	}
	user, err := jwt.DecodeUserClaims(token)
	switch {
	case err != nil:
		return errNoCreds // the library's error may contain parts of the token
	case user.Subject != id:
		return fmt.Errorf("%q holds the JWT of user %s and the seed of %s: they must be of the same user", path, user.Subject, id)
	case user.Expires > 0 && now.Unix() >= user.Expires:
		return fmt.Errorf("the user's JWT in %q expired on %s: make new credentials", path, time.Unix(user.Expires, 0).UTC().Format(time.DateTime))
	}
	return nil
}

var errNoCreds = errors.New("the file holds no credentials of a NATS user: it must be one that nsc writes (a user's JWT and its seed), or hold the seed of an nkey, which begins with SU")

// isJWT reports whether credentials contain a user's JWT, not only a seed.
func isJWT(text []byte) bool { return strings.Contains(string(text), "BEGIN NATS USER JWT") }

// Options returns the connection options for this login.
func (l Login) Options() ([]nats.Option, error) {
	var options []nats.Option
	if !l.TLS.Empty() {
		var cert nats.TLSCertHandler
		var authorities nats.RootCAsHandler
		if l.TLS.Cert != "" {
			cert = func() (tls.Certificate, error) { return l.TLS.Certificate() }
		}
		if l.TLS.CA != "" {
			authorities = func() (*x509.CertPool, error) { return l.TLS.Authorities() }
		}
		options = append(options, nats.ClientTLSConfig(cert, authorities))
	}
	if l.Creds == "" {
		return options, nil
	}
	text, err := certfiles.Read(l.Creds)
	if err != nil {
		return nil, err
	}
	if isJWT(text) {
		return append(options, nats.UserCredentials(l.Creds)), nil
	}
	seed, err := nats.NkeyOptionFromSeed(l.Creds)
	if err != nil {
		return nil, errNoCreds
	}
	return append(options, seed), nil
}

// CheckURLs returns an error for a server list that Connect would refuse. It shows no credential.
func CheckURLs(list string) error {
	_, err := servers(list)
	return err
}

// schemes lists the schemes that nats.go distinguishes. It treats others, such as https, as nats without TLS.
var schemes = []string{"nats", "tls", "ws", "wss"}

// servers returns the hosts of a comma-separated list of NATS URLs for logs. The error contains no part of a
// URL: in a malformed one, any part may be a password.
func servers(list string) (string, error) {
	var hosts []string
	for i, address := range strings.Split(list, ",") {
		parsed, err := parseServer(address)
		switch {
		case err != nil || parsed.Hostname() == "" || strings.Contains(parsed.Path+parsed.RawQuery, "@") || parsed.Fragment != "":
			err = errors.New("it should look like nats://host:4222 or nats://user:password@host:4222, " +
				"with : / ? # and @ in the user or the password percent-encoded")
		case !slices.Contains(schemes, parsed.Scheme):
			err = errors.New("its scheme must be nats://, tls:// for TLS, or ws:// and wss:// for NATS over WebSocket")
		case parsed.RawQuery != "" || parsed.ForceQuery:
			err = fmt.Errorf("it has the parameters %q after a ?, and takes none: credentials, authorities and certificates are files that NATS_CREDS_FILE, NATS_CA_FILE, NATS_CERT_FILE and NATS_KEY_FILE name",
				slices.Sorted(maps.Keys(parsed.Query())))
		}
		if err != nil {
			return "", fmt.Errorf("NATS URL %d cannot be read: %w", i+1, err)
		}
		hosts = append(hosts, parsed.Host)
	}
	return strings.Join(hosts, ","), nil
}

// parseServer parses a server URL as nats.go does.
func parseServer(address string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	if !strings.Contains(address, "://") {
		address = "nats://" + address
	}
	return url.Parse(address)
}
