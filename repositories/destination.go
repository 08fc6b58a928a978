package repositories

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// destination is what decides where a credential goes and as whom, by the names of the
// fields that say it. A credential is stored with it: whoever may change a definition
// cannot have what another has given sent elsewhere.
type destination map[string]string

// text is the form that is stored and compared; equal destinations have equal ones.
func (d destination) text() string {
	text, _ := json.Marshal(d) // a map of texts, which is written in the order of its keys
	return string(text)
}

// changed lists in which fields a destination differs from the one that a credential
// was given for.
func (d destination) changed(towards string) string {
	var was destination
	if json.Unmarshal([]byte(towards), &was) != nil {
		return "where it goes" // it is not known for what it was given
	}
	names := slices.Collect(maps.Keys(was))
	names = slices.AppendSeq(names, maps.Keys(d))
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return d[name] == was[name] })
	return strings.Join(names, ", ")
}

// endpoint is the destination of what goes to a URL, whatever its path.
func endpoint(text string) destination {
	parsed, err := url.Parse(text)
	if err != nil {
		return destination{"url": text}
	}
	scheme := strings.ToLower(parsed.Scheme)
	return destination{"scheme": scheme, "host": strings.ToLower(parsed.Hostname()), "port": cmp.Or(parsed.Port(), portOf[scheme])}
}

// portOf is the port of a scheme where a URL names none.
var portOf = map[string]string{"http": "80", "https": "443"}

// with returns the destination with more fields; empty ones are left out.
func (d destination) with(more destination) destination {
	next := maps.Clone(d)
	for name, value := range more {
		if value != "" {
			next[name] = value
		}
	}
	return next
}

// secretDestination: a module's secret is shown to its token endpoint.
func (m *Module) secretDestination() destination {
	return destination{"tokenUrl": m.TokenURL, "clientId": m.OAuthClient()}
}

// destination of all credentials of a source. With a lower sslmode another server could
// take the place of the database.
func (s *Source) destination() destination {
	d := destination{"type": s.Type}
	if s.Type == SourcePostgres {
		return d.with(destination{
			"host": s.Host, "port": cmp.Or(s.Port, "5432"), "user": s.User, "database": s.Database,
			"sslmode": s.QueryParams["sslmode"].Reveal(),
		})
	}
	return d.with(destination{"baseUrl": s.BaseURL})
}

// destination of the tool's calls: a URL, or the source of the app that it works on.
func (t *Tool) destination(app *App) destination {
	if t.Source == "" {
		return endpoint(t.URL)
	}
	source, _ := app.Source(t.Source)
	return destination{"source": t.Source, "baseUrl": source.BaseURL}
}

// destination of a bearer's own credentials: they are shown to the endpoints of the
// token, which then goes where the calls go.
func (b *Bearer) destination(calls destination) destination {
	return calls.with(destination{
		"tokenUrl": b.TokenURL, "refreshUrl": b.RefreshURL, "clientId": b.ClientID, "username": b.Username,
	})
}
