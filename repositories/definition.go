// Package repositories defines what clients register before any message is matched: apps with their modules,
// sources and settings, and repositories of tools. A body has at most 1 MiB; up to 100 of its faults are listed.
//
// A definition is validated in two steps. Decode (DecodeApp, DecodeRepository) reads an untrusted body and names
// all its faults at once. Check compares a repository with its app, which must have the modules, sources and
// authentication services that the repository names. Package store keeps both in Redis.
//
// Packages below it do not know definitions: fault and secret, exactjson, schema and bodies (the faults of a body),
// parameters and template (the values of a tool). Above it are store, and files, which reads definitions from a
// folder.
package repositories

import (
	_ "embed" // for the schema
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"earshot/repositories/bodies"
	"earshot/repositories/fault"
	"earshot/repositories/parameters"
)

//go:embed definition.schema.json
var definitionSchema []byte

// DefinitionSchema returns the JSON Schema (draft 2020-12) of all definitions: App, Repository, Patch, Tool and
// their parts. Go checks the remaining rules, such as that a module exists.
func DefinitionSchema() json.RawMessage { return slices.Clone(definitionSchema) }

var loadDefinitions = sync.OnceValue(func() *bodies.Definitions {
	checks, forms := maps.Clone(formats), map[string]string{}
	for name, of := range durations {
		checks[name] = upTo(of.most, of.example)
		forms[name] = fmt.Sprintf("a text, as %q", of.example)
	}
	d := bodies.Compile(definitionSchema, checks)
	d.Quiet, d.Absent, d.Instead, d.Forms = true, true, instead, forms
	return d
})

var instead = map[string]string{
	"allowedIpRanges":       "which addresses may be reached is the operator's decision (EARSHOT_PRIVATE_URLS)",
	"customBlockedIpRanges": "which addresses may be reached is the operator's decision (EARSHOT_PRIVATE_URLS)",
	"allowPrivateNetworks":  "which addresses may be reached is the operator's decision (EARSHOT_PRIVATE_URLS)",
	"queryExecMode":         "statements are always described by the database and run with bound values",
	"date":                  dated("date"),
	"time":                  dated("time"),
	"datetime":              dated("date-time"),
	"date-time":             dated("date-time"),
	"duration":              dated("duration"),
	"scopesRequired":        "list authentication services in authRequired",
}

func dated(format string) string { return fmt.Sprintf(`write "type": "string", "format": %q`, format) }

type decoding struct {
	*bodies.Body
	patterns parameters.Budget // of all tools of the body together
}

// decode reads a body of a named definition. It returns a fault.List if reading must end, as Definitions.Read.
func decode(name string, body []byte) (*decoding, error) {
	given := &functions{moved: bodies.Moved{}}
	read, err := loadDefinitions().ReadMoved(name, body, given.move)
	if err != nil {
		return nil, err
	}
	for _, one := range given.faults {
		read.Add(one.Pointer, "%s", one)
	}
	return &decoding{Body: read}, nil
}

// typedField is a field that only some types of a tool or a source have.
type typedField[T any] struct {
	name   string
	of     []string // types that have it
	needed []string // types that require it
	given  func(T) bool
}

func (d *decoding) needs(given bool, pointer, what string) {
	if !given {
		d.Miss(pointer, ": "+what+" needs it")
	}
}

// unique reports a name that an earlier member has. The format takes the name and that member's number.
func (d *decoding) unique(seen map[string]int, name string, i int, pointer, format string) {
	if first, twice := seen[name]; !twice {
		seen[name] = i
	} else if name != "" {
		d.Add(pointer, format, name, first)
	}
}

// bearer checks that the grant has its required fields (RFC 6749, sections 4.3 and 4.4).
func (d *decoding) bearer(b *Bearer, at string) {
	if b.ClientType == "" {
		b.ClientType = GrantClientCredentials
		if b.Username != "" && b.ClientSecret.Empty() {
			b.ClientType = GrantPassword
		}
	}
	if b.ClientType == GrantPassword {
		d.needs(b.Username != "", at+"/username", "the password grant")
		d.needs(!b.Password.Empty(), at+"/password", "the password grant")
		return
	}
	d.needs(b.ClientID != "", at+"/clientId", "client_credentials")
	d.needs(!b.ClientSecret.Empty(), at+"/clientSecret", "client_credentials")
}

// headers checks the names of headers, which ignore case.
func (d *decoding) headers(headers Headers, at string) {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		key := strings.ToLower(name)
		if err := checkHeaderName(name); err != nil {
			d.Add(at+fault.Point(name), "%s", err)
		}
		if other, twice := seen[key]; twice {
			d.Add(at+fault.Point(name), "repeats the header %s", other)
		}
		seen[key] = name
	}
}
