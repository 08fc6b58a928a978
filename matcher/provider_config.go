package matcher

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"earshot/repositories"
)

// Provider says how one provider of LLMs is reached through its own API. The zero
// value is a provider that is not configured.
type Provider struct {
	Key repositories.Secret
	// BaseURL is where the provider is; empty is its own address. The version of the
	// API may stand at its end or be left out.
	BaseURL string
	// Model is asked where the app's settings name none; empty is a small, quick one.
	Model string
}

// Configured reports whether there is a key or an endpoint.
func (p Provider) Configured() bool { return !p.Key.Empty() || p.BaseURL != "" }

// or fills in what was left out of a provider that is configured.
func (p Provider) or(baseURL, model string) Provider {
	if p.Configured() {
		p.BaseURL, p.Model = cmp.Or(p.BaseURL, baseURL), cmp.Or(p.Model, model)
	}
	return p
}

var (
	versioned = regexp.MustCompile(`/(v[0-9]+[a-z0-9]*)/?$`)

	errBaseURL = errors.New("its base URL cannot be read: give it as in https://api.example.com")
)

// endpoint parts a base URL from the version at its end.
func endpoint(baseURL string) (base *url.URL, version string, err error) {
	base, err = url.Parse(baseURL)
	if err != nil || base.Host == "" {
		return nil, "", errBaseURL // without the URL: it may carry credentials
	}
	if found := versioned.FindStringSubmatch(base.Path); found != nil {
		base.Path, version = strings.TrimSuffix(base.Path, found[0]), found[1]
	}
	base.RawPath = ""
	return base, version, nil
}

// network is what requests are sent with.
type network struct {
	HTTPClient *http.Client
	// Timeout bounds what a request needs before it is sent, as a token.
	Timeout time.Duration
	// Now is the clock for Retry-After given as a date.
	Now func() time.Time
}
