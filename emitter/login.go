package emitter

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"earshot/repositories/certfiles"
)

// Login is what a connection to NATS shows the servers, and by what it trusts them, in addition
// to their URLs. Its files are read at each connection.
type Login struct {
	// Creds is a file with the JWT of a user and its seed, as nsc writes it, or with the seed
	// of an nkey alone.
	Creds string
	// TLS asks for TLS whatever the URLs say, if a file is named.
	TLS certfiles.Files
}

// Check returns all faults of the files, and of what they do not agree on with a list of
// servers. It shows nothing of a credential.
func (l Login) Check(list string, now time.Time) error {
	faults := []error{l.TLS.Check("NATS", now)}
	if l.Creds != "" {
		if err := checkCreds(l.Creds, now); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", credsSetting, err))
		}
	}
	for i, one := range strings.Split(list, ",") {
		parsed, err := parseServer(one)
		if err != nil {
			continue // CheckURLs says so
		}
		if l.Creds != "" && parsed.User != nil {
			faults = append(faults, fmt.Errorf("%s is set, and NATS URL %d holds a user or a token as well: leave one of them out", credsSetting, i+1))
		}
		if !l.TLS.Empty() && parsed.Scheme == "ws" {
			faults = append(faults, fmt.Errorf("files for TLS to NATS are named, and NATS URL %d is ws://, without TLS: begin it with wss://", i+1))
		}
	}
	return errors.Join(faults...)
}

// credsSetting names the setting of Login.Creds.
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
		return errNoCreds // the library's own words may hold some of the token
	case user.Subject != id:
		return fmt.Errorf("%q holds the JWT of user %s and the seed of %s: they must be of the same user", path, user.Subject, id)
	case user.Expires > 0 && now.Unix() >= user.Expires:
		return fmt.Errorf("the user's JWT in %q has ended on %s: make new credentials", path, time.Unix(user.Expires, 0).UTC().Format(time.DateTime))
	}
	return nil
}

var errNoCreds = errors.New("the file holds no credentials of a NATS user: it must be one that nsc writes (a user's JWT and its seed), or hold the seed of an nkey, which begins with SU")

// isJWT reports whether credentials are a user's JWT with its seed, and not a seed alone.
func isJWT(text []byte) bool { return strings.Contains(string(text), "BEGIN NATS USER JWT") }

// Options are those of a connection with this login. The library reads the file of credentials
// at each connection.
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

// CheckURLs returns an error for a comma-separated list of NATS servers that Connect
// would refuse. It shows nothing of a credential.
func CheckURLs(list string) error {
	_, err := servers(list)
	return err
}

// schemes are those that nats.go makes a difference of. It takes any other for nats,
// so that a server would be spoken to without TLS if https was meant to ask for it.
var schemes = []string{"nats", "tls", "ws", "wss"}

// servers returns the hosts of a comma-separated list of NATS URLs, fit for logs: the user
// part of a URL holds a password or a token. Its own error says nothing of the URL
// either, since a password that is not escaped may stand anywhere in a broken one.
func servers(list string) (string, error) {
	var hosts []string
	for i, one := range strings.Split(list, ",") {
		parsed, err := parseServer(one)
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

// parseServer reads the URL of one server, as nats.go does.
func parseServer(address string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	if !strings.Contains(address, "://") {
		address = "nats://" + address
	}
	return url.Parse(address)
}
