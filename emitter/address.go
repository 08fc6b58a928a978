package emitter

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

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

func hostOf(address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "nats://" + address // as nats.go does
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" {
		return "", errAddress
	}
	return parsed.Host, nil
}
