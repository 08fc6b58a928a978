package emitter

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// CheckURLs returns an error for a comma-separated list of NATS servers that Connect
// would refuse. It shows nothing of a credential.
func CheckURLs(list string) error {
	_, err := servers(list)
	return err
}

// servers returns the hosts of a comma-separated list of NATS URLs, fit for logs: an
// URL's user part holds a password or a token. Its own error says nothing of the URL
// either, since a password that is not escaped may stand anywhere in a broken one.
func servers(list string) (string, error) {
	var hosts []string
	for i, one := range strings.Split(list, ",") {
		host, err := hostOf(strings.TrimSpace(one))
		if err != nil {
			return "", fmt.Errorf("NATS URL %d cannot be read: %w", i+1, err)
		}
		hosts = append(hosts, host)
	}
	return strings.Join(hosts, ","), nil
}

var errAddress = errors.New("it should look like nats://host:4222 or nats://user:password@host:4222, " +
	"with : / ? # and @ in the user or the password percent-encoded")

// schemes are those that nats.go makes a difference of. It takes any other for nats,
// so that a server would be spoken to without TLS where https was meant to ask for it.
var schemes = []string{"nats", "tls", "ws", "wss"}

// errScheme does not repeat the scheme: of a broken URL it may be anything.
var errScheme = errors.New("its scheme must be nats://, tls:// for TLS, or ws:// and wss:// for NATS over WebSocket")

func hostOf(address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "nats://" + address // as nats.go does
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" {
		return "", errAddress
	}
	if !slices.Contains(schemes, parsed.Scheme) {
		return "", errScheme
	}
	return parsed.Host, nil
}
