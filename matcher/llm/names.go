package llm

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"earshot/matcher"
	"earshot/repositories/parameters"
)

// toolNames maps the model's names of tools to candidates. Aliases are made only when needed: nearly all names are
// valid for providers, and a model sees few of many candidates.
type toolNames struct {
	all     []matcher.Candidate // sorted by name
	aliases map[string]string   // name → alias, for names that providers refuse; nil until needed
	names   map[string]string   // alias → name
}

// alias returns the name that the model sees for a tool. Tools of earlier messages may be out of scope.
func (n *toolNames) alias(name string) string {
	if validToolName(name) {
		return name
	}
	if n.aliases == nil {
		n.aliases, n.names = map[string]string{}, map[string]string{}
		for _, candidate := range n.all { // in order, so that each message gives the same aliases
			if !validToolName(candidate.Tool.Name) {
				n.addAlias(candidate.Tool.Name)
			}
		}
	}
	if alias, known := n.aliases[name]; known {
		return alias
	}
	return n.addAlias(name)
}

func (n *toolNames) addAlias(name string) string {
	alias := safeName(name, validToolName, func(alias string) bool { return n.has(alias) || n.names[alias] != "" })
	n.aliases[name], n.names[alias] = alias, name
	return alias
}

func (n *toolNames) has(name string) bool {
	_, ok := matcher.PlaceOf(name, n.all)
	return ok
}

// find returns the candidate that a model's name means: the same name, else the only one that is equal without a
// provider's prefix (functions.book, default_api:book), then without case, then without the difference between
// hyphens and underscores. An ambiguous name finds none.
func (n *toolNames) find(named string) (matcher.Candidate, bool) {
	if at, known := matcher.PlaceOf(cmp.Or(n.names[named], named), n.all); known {
		return n.all[at], true
	}
	named = strings.TrimSpace(named)
	bare := withoutPrefix(named)
	for _, same := range []func(string) bool{
		func(name string) bool { return name == named || name == bare },
		func(name string) bool { return strings.EqualFold(name, bare) },
		func(name string) bool { return parameters.FoldName(name) == parameters.FoldName(bare) },
	} {
		var meant []matcher.Candidate
		for _, candidate := range n.all {
			if same(candidate.Tool.Name) {
				meant = append(meant, candidate)
			}
		}
		if len(meant) > 0 {
			return meant[0], len(meant) == 1
		}
	}
	return matcher.Candidate{}, false
}

func withoutPrefix(named string) string { return named[strings.LastIndexAny(named, ".:/")+1:] }

// offerForm is the key of a tool's offer, besides the tool. The alias is empty if it is the tool's own name, as
// nearly always.
type offerForm struct {
	alias         string
	sessionScoped bool
}

// The usual forms, preallocated.
var ofApp, ofSession any = offerForm{}, offerForm{sessionScoped: true}

// offerOf returns how a tool is offered under an alias. The tool caches it.
func offerOf(candidate matcher.Candidate, alias string) *chatTool {
	params, session := candidate.Tool.Params(), candidate.Repository.SessionID != ""
	form := ofApp
	if session {
		form = ofSession
	}
	if alias != candidate.Tool.Name {
		form = offerForm{alias, session}
	}
	return params.Derived(form, func() any {
		schema, names := safeSchema(params.ModelSchema())
		return &chatTool{name: alias, description: matcher.Description(candidate.Tool), schema: schema, sessionScoped: session, shown: properties(schema), names: names}
	}).(*chatTool)
}

// Valid for every provider. OpenAI lets a tool's name begin with a digit, Gemini does not; Anthropic's rule for
// properties is the narrowest.
var (
	propertyName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	unsafeRune   = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)

// validToolName reports whether every provider accepts a tool's name: a letter or _, then letters, digits, _ and -,
// at most 64 in all.
func validToolName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return 0 < len(name) && len(name) <= 64
}

func safeName(name string, valid, taken func(string) bool) string {
	const reserved = 4 // for a number that distinguishes equal aliases
	base := unsafeRune.ReplaceAllString(name, "_")
	if base == "" || !valid(base[:1]) {
		base = "_" + base
	}
	base = base[:min(len(base), 64-reserved)]
	alias := base
	for n := 2; taken(alias); n++ {
		alias = base + "_" + strconv.Itoa(n)
	}
	return alias
}

// safeSchema renames those top-level properties of a tool's schema that a provider would refuse, and returns alias
// → name. A schema without such properties is returned byte for byte.
func safeSchema(schema json.RawMessage) (json.RawMessage, map[string]string) {
	names, back := properties(schema), map[string]string{}
	for _, name := range names {
		if !propertyName.MatchString(name) {
			alias := safeName(name, propertyName.MatchString, func(alias string) bool { return slices.Contains(names, alias) || back[alias] != "" })
			back[alias] = name
		}
	}
	if len(back) == 0 {
		return schema, nil
	}
	var object, of map[string]json.RawMessage
	var required []string
	_ = json.Unmarshal(schema, &object) // our own schema, checked at registration
	_ = json.Unmarshal(object["properties"], &of)
	_ = json.Unmarshal(object["required"], &required)
	for alias, name := range back {
		of[alias] = of[name]
		delete(of, name)
		if at := slices.Index(required, name); at >= 0 {
			required[at] = alias
		}
	}
	object["properties"], _ = json.Marshal(of)
	if len(required) > 0 {
		object["required"], _ = json.Marshal(required)
	}
	renamed, _ := json.Marshal(object)
	return renamed, back
}

// properties returns the sorted names of a schema's top-level properties.
func properties(schema json.RawMessage) []string {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(schema, &object) // only objects have properties
	return slices.Sorted(maps.Keys(object.Properties))
}
