package emitter

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"earshot/repositories/certfiles"
)

// service is what the settings of a Login begin with.
const service = "NATS"

// Login is what a connection to NATS shows the servers, and by what it trusts them, beside
// what stands in their URLs. Its files are read at each connection.
type Login struct {
	// Creds is a file with the JWT of a user and its seed, as nsc writes it, or with the seed
	// of an nkey alone.
	Creds string
	// TLS asks for TLS whatever the URLs say, where a file is named.
	TLS certfiles.Files
}

// Check returns all faults of the files, and of what they do not agree on with a list of
// servers. It shows nothing of a credential.
func (l Login) Check(list string, now time.Time) error {
	faults := []error{l.TLS.Check(service, now)}
	if l.Creds != "" {
		if err := checkCreds(l.Creds, now); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", certfiles.Setting(service, "creds"), err))
		}
	}
	for i, one := range strings.Split(list, ",") {
		parsed, err := parseServer(strings.TrimSpace(one))
		if err != nil {
			continue // CheckURLs says so
		}
		if l.Creds != "" && parsed.User != nil {
			faults = append(faults, fmt.Errorf("%s is set, and NATS URL %d holds a user or a token as well: leave one of them out", certfiles.Setting(service, "creds"), i+1))
		}
		if !l.TLS.Empty() && parsed.Scheme == "ws" {
			faults = append(faults, fmt.Errorf("files for TLS to NATS are named, and NATS URL %d is ws://, without TLS: begin it with wss://", i+1))
		}
	}
	return errors.Join(faults...)
}

func checkCreds(path string, now time.Time) error {
	text, err := certfiles.Read(path)
	if err != nil {
		return err
	}
	id, err := publicKey(text)
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

// publicKey is that of the user whose seed stands in credentials.
func publicKey(text []byte) (string, error) {
	pair, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		return "", errNoCreds
	}
	defer pair.Wipe()
	return pair.PublicKey()
}

// Options are those of a connection with this login.
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
		return append(options, nats.UserJWT(l.token, l.sign)), nil
	}
	id, err := publicKey(text)
	return append(options, nats.Nkey(id, l.sign)), err
}

func (l Login) token() (string, error) {
	text, err := certfiles.Read(l.Creds)
	if err != nil {
		return "", err
	}
	return nkeys.ParseDecoratedJWT(text)
}

func (l Login) sign(nonce []byte) ([]byte, error) {
	text, err := certfiles.Read(l.Creds)
	if err != nil {
		return nil, err
	}
	pair, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		return nil, errNoCreds
	}
	defer pair.Wipe()
	return pair.Sign(nonce)
}

// parseServer reads the URL of one server, as nats.go does.
func parseServer(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "nats://" + address
	}
	return url.Parse(address)
}
