package repositories

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"earshot/repositories/fault"
)

// Times between two looks at the tools of an MCP server.
const (
	// defaultRefresh holds where the source does not say.
	defaultRefresh = 5 * time.Minute
	minRefresh     = 5 * time.Second
	maxRefresh     = 24 * time.Hour
)

// SourceAuth is how requests to an MCP server are authenticated, in one of three ways. A
// token that never changes stands in the source's headers.
type SourceAuth struct {
	Basic  *Basic  `json:"basic,omitempty"`
	Bearer *Bearer `json:"bearer,omitempty"`
	// ModuleID names the module of the app whose token is sent.
	ModuleID string `json:"moduleId,omitempty"`
}

// Request is how a call of a tool of the source is made: with the source's headers and
// credentials, and with the limits of own, which may be nil. The app's owner has written the
// source, so its module may be used with the host that it names.
func (s *Source) Request(own *Request) *Request {
	made := Request{Auth: AuthNone}
	if own != nil {
		made.Timeout, made.RetryFor, made.Idempotent = own.Timeout, own.RetryFor, own.Idempotent
	}
	made.Headers = s.Headers
	if s.Auth == nil {
		return &made
	}
	made.Basic, made.Bearer, made.ModuleID, made.anywhere = s.Auth.Basic, s.Auth.Bearer, s.Auth.ModuleID, granted
	switch {
	case made.Basic != nil:
		made.Auth = AuthBasic
	case made.Bearer != nil:
		made.Auth = AuthBearer
	case made.ModuleID != "":
		made.Auth = AuthModule
	}
	return &made
}

// RefreshEvery is the time between two looks at the tools of the source's server.
func (s *Source) RefreshEvery() time.Duration { return s.Refresh.Or(defaultRefresh) }

// Allows reports whether a tool with that name may be taken over from the source's server.
func (s *Source) Allows(name string) bool {
	return len(s.Allow) == 0 || slices.ContainsFunc(s.Allow, func(pattern string) bool {
		// A slash is a letter like any other in a name.
		matched, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
		return err == nil && matched
	})
}

func (a *SourceAuth) clone() *SourceAuth {
	if a == nil {
		return nil
	}
	copied := (&Request{Basic: a.Basic, Bearer: a.Bearer}).clone()
	return &SourceAuth{Basic: copied.Basic, Bearer: copied.Bearer, ModuleID: a.ModuleID}
}

func (a *SourceAuth) credentials(name, pointer string, to func(*App) destination) []Credential {
	var list []Credential
	if a == nil {
		return nil
	}
	if basic := a.Basic; basic != nil {
		user := func(app *App) destination { return to(app).with(destination{"username": basic.Username}) }
		list = append(list, fieldCredential(name+"basic.password", pointer+"/basic/password", &basic.Password, user))
	}
	if bearer := a.Bearer; bearer != nil {
		client := func(app *App) destination { return bearer.destination(to(app)) }
		list = append(list,
			fieldCredential(name+"bearer.clientSecret", pointer+"/bearer/clientSecret", &bearer.ClientSecret, client),
			fieldCredential(name+"bearer.password", pointer+"/bearer/password", &bearer.Password, client))
	}
	return list
}

// sourceAuth checks the credentials of an mcp source.
func (d *decoding) sourceAuth(source Source, at string) {
	if source.Auth == nil {
		return
	}
	ways := 0
	for _, given := range []bool{source.Auth.Basic != nil, source.Auth.Bearer != nil, source.Auth.ModuleID != ""} {
		if given {
			ways++
		}
	}
	at += fault.Point("auth")
	if ways != 1 {
		d.Add(at, "needs one of basic, bearer and moduleId; a token that never changes stands in headers, as Authorization")
	}
	if source.Auth.Bearer != nil {
		d.bearer(source.Auth.Bearer, at+fault.Point("bearer"))
	}
	for name := range source.Headers {
		if strings.EqualFold(name, "Authorization") {
			d.Add(at, "stands beside the header %s, which it would replace; give one of them", name)
		}
	}
}

// sourceModules checks that the modules that sources name are the app's.
func (d *decoding) sourceModules(app *App) {
	for i, source := range app.Sources {
		if source.Auth == nil || source.Auth.ModuleID == "" {
			continue
		}
		if wrong := app.lacksModule(source.Auth.ModuleID); wrong != "" {
			d.Add(fault.Point("sources", i, "auth", "moduleId"), "%s", wrong)
		}
	}
}

// toolPattern is a pattern of names as MCP has them (revision 2026-07-28), and older servers.
var toolPattern = regexp.MustCompile(`^[A-Za-z0-9_.:/*?-]{1,128}$`)

func checkToolPattern(text string) error {
	if !toolPattern.MatchString(text) {
		return fmt.Errorf("%q is not a pattern of tools' names: 1 to 128 of A-Z a-z 0-9 _ - . : / with * for any letters and ? for one", fault.Clip(text))
	}
	return nil
}

func checkRefresh(text string) error {
	if err := checkDuration(text, maxRefresh, "5m"); err != nil {
		return err
	}
	if given, _ := time.ParseDuration(text); given < minRefresh {
		return fmt.Errorf("%q is too short: a server is asked for its tools every %s at most", fault.Clip(text), minRefresh)
	}
	return nil
}

// from checks the tools of a body whose tools are those of a source. They are what was read
// of it before, which whoever sends it back need not take out; they are left.
func (d *decoding) from() {
	source, _ := d.Object()["from"].(string)
	tools, given := d.Object()["tools"].([]any)
	if source == "" && !given {
		d.Add(fault.Point("tools"), "is missing")
	}
	if source == "" {
		return
	}
	for i, member := range tools {
		tool, _ := member.(map[string]any)
		if tool["type"] != ToolMCP || tool["source"] != source {
			d.Add(fault.Point("tools", i), "%s", errOwnTools(source))
		}
	}
	delete(d.Object(), "tools")
}

func errOwnTools(source string) error {
	return errors.New("is not for a repository whose tools are those of source " + fault.Show(source) +
		": which of them it has is said by allow of the source, and others stand in another repository, also a tool of type mcp with options of its own")
}

// ownTools is the fault of a change to tools that are a source's.
func ownTools(source, pointer string) error {
	return fault.List{{Pointer: pointer, Detail: errOwnTools(source).Error()}}
}

func checkFrom(faults *fault.List, name string, app *App) {
	source, ok := app.Source(name)
	switch {
	case !ok:
		faults.Add(fault.Point("from"), "%s", unknownName("source", name, app.sourceNames()))
	case source.Type != SourceMCP:
		faults.Add(fault.Point("from"), "%s is of type %s; the tools of a repository are those of a source of type %s", fault.Show(name), source.Type, SourceMCP)
	}
}

func (a *App) sourceNames() []string {
	known := make([]string, len(a.Sources))
	for i := range a.Sources {
		known[i] = a.Sources[i].Name
	}
	return known
}
