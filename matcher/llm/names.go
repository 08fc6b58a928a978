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

// toolNames maps the names that a model uses to the candidates.
type toolNames struct {
	aliasOf map[string]string            // a tool's name → what the model is shown
	byAlias map[string]matcher.Candidate // the way back
	all     []matcher.Candidate
}

func newToolNames(candidates []matcher.Candidate) *toolNames {
	n := &toolNames{aliasOf: map[string]string{}, byAlias: map[string]matcher.Candidate{}, all: candidates}
	taken := map[string]bool{}
	for _, candidate := range candidates {
		if toolName.MatchString(candidate.Tool.Name) {
			taken[candidate.Tool.Name] = true
		}
	}
	for _, candidate := range candidates {
		name := candidate.Tool.Name
		alias := name
		if !toolName.MatchString(name) {
			alias = safeName(name, toolName, taken)
		}
		n.aliasOf[name], n.byAlias[alias] = alias, candidate
	}
	return n
}

// alias returns what the model is shown for a tool. Tools of earlier messages
// need not be in scope any more.
func (n *toolNames) alias(name string) string {
	if wire, known := n.aliasOf[name]; known {
		return wire
	}
	if toolName.MatchString(name) {
		return name
	}
	return safeName(name, toolName, map[string]bool{})
}

// find returns the candidate that a model means: the one of that name, else the only one
// whose name equals it without the prefix that some providers set before it
// (functions.book, default_api:book), then without case, then without the difference
// between hyphens and underscores. If two match equally well, neither is taken.
func (n *toolNames) find(named string) (matcher.Candidate, bool) {
	if candidate, known := n.byAlias[named]; known {
		return candidate, true
	}
	named = strings.TrimSpace(named)
	bare := named[strings.LastIndexAny(named, ".:/")+1:]
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

// What every provider takes. OpenAI's rule for tools lets a name begin with a digit,
// Gemini's does not; Anthropic's is the narrowest for properties.
var (
	toolName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	propertyName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	unsafeRune   = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)

// safeName makes a name that rule accepts and that is not taken, and takes it.
func safeName(name string, rule *regexp.Regexp, taken map[string]bool) string {
	const room = 4 // for the number that tells equal aliases apart
	base := unsafeRune.ReplaceAllString(name, "_")
	if base == "" || !rule.MatchString(base[:1]) {
		base = "_" + base
	}
	base = base[:min(len(base), 64-room)]
	alias := base
	for n := 2; taken[alias]; n++ {
		alias = base + "_" + strconv.Itoa(n)
	}
	taken[alias] = true
	return alias
}

// safeSchema renames those top-level properties of a tool's schema that a provider
// would refuse, and returns the way back from alias to name. A schema that needs no
// renaming is returned as it is, byte for byte.
func safeSchema(schema json.RawMessage) (json.RawMessage, map[string]string) {
	names := properties(schema)
	back := propertyAliases(names)
	if len(back) == 0 {
		return schema, nil
	}
	var object map[string]json.RawMessage
	var of map[string]json.RawMessage
	var required []string
	_ = json.Unmarshal(schema, &object)
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
	// What is not an object has no properties; the schema is our own, checked when the tool
	// was registered.
	_ = json.Unmarshal(schema, &object)
	return slices.Sorted(maps.Keys(object.Properties))
}

// propertyAliases returns alias → name for the names that need one.
func propertyAliases(names []string) map[string]string {
	taken := map[string]bool{}
	for _, name := range names {
		taken[name] = true
	}
	back := map[string]string{}
	for _, name := range names {
		if !propertyName.MatchString(name) {
			back[safeName(name, propertyName, taken)] = name
		}
	}
	return back
}

// shownValues renders the values of an earlier call as the model would have written them.
// Only what a tool in scope shows to models is repeated to one: static, ignored and
// authenticated values stay hidden from it.
func (n *toolNames) shownValues(name string, values map[string]any) string {
	candidate, known := n.byAlias[n.alias(name)]
	if !known || candidate.Tool.Name != name {
		return "{}"
	}
	shown := map[string]any{}
	schema, back := safeSchema(candidate.Tool.Params().ModelSchema())
	for _, wire := range properties(schema) {
		if value, has := values[cmp.Or(back[wire], wire)]; has {
			shown[wire] = value
		}
	}
	text, err := json.Marshal(shown)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// unalias gives a model's arguments the names of their parameters back.
func unalias(arguments map[string]any, schema json.RawMessage) map[string]any {
	back := propertyAliases(properties(schema))
	if len(back) == 0 {
		return arguments
	}
	named := make(map[string]any, len(arguments))
	for wire, value := range arguments {
		named[cmp.Or(back[wire], wire)] = value
	}
	return named
}
