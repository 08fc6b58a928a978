package llm

import (
	"cmp"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/matcher/llm/provider"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
)

// Limits on the examples that are shown with a tool.
const (
	maxExamples     = 3
	maxExampleBytes = 120
)

// llmTurn is the state of matching one message with the model.
type llmTurn struct {
	request matcher.Request
	names   *toolNames
	model   provider.Client
	ask     provider.Request
	ids     map[string]bool // of the calls in the request
}

// newTurn lays out the request for a message: what changes least comes first. The
// rules, the tools by name, the history, the clock, and last the message, alone.
func (l *LLM) newTurn(request matcher.Request) (*llmTurn, error) {
	model, name, err := l.choose(request.App)
	if err != nil {
		return nil, err
	}
	t := &llmTurn{request: request, names: newToolNames(request.Candidates), model: model, ids: map[string]bool{}}
	seen := request.History[matcher.HistoryStart(len(request.History), l.options.History):]
	t.ask = provider.Request{Model: name, Tools: t.tools(l.retriever, l.options.Limit)}
	t.ask.Messages = append(t.ask.Messages, provider.Message{Role: provider.System, Text: systemText(request)})
	t.ask.Messages = append(t.ask.Messages, t.history(seen)...)
	t.ask.Messages = append(t.ask.Messages,
		provider.Message{Role: provider.System, Text: nowMessage(request)},
		provider.Message{Role: provider.User, Text: request.Text})
	return t, nil
}

// tools returns the definitions that are offered, at most limit of them.
func (t *llmTurn) tools(retriever *retrieval.Retriever, limit int) []*provider.Tool {
	offered := t.request.Candidates
	if len(offered) > limit {
		offered = retriever.Retrieve(t.request, limit)
		offered = offered[:min(len(offered), MaxTools)]
	}
	definitions := make([]*provider.Tool, len(offered))
	for i, candidate := range offered {
		definitions[i] = offerOf(candidate, t.names.alias(candidate.Tool.Name)).tool
	}
	slices.SortFunc(definitions, func(a, b *provider.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return definitions
}

// offer is a tool as models are shown it.
type offer struct {
	tool *provider.Tool
	// shown are the sorted names of the top-level properties, and back leads from those
	// that are not the names of parameters to these.
	shown []string
	back  map[string]string
}

// offerForm is what an offer depends on beside the tool.
type offerForm struct {
	alias         string
	sessionScoped bool
}

// offerOf returns how a tool is offered under an alias. It is worked out once in the life of
// the tool.
func offerOf(candidate matcher.Candidate, alias string) *offer {
	params, form := candidate.Tool.Params(), offerForm{alias, candidate.Repository.SessionID != ""}
	return params.Derived(form, func() any {
		schema, back := safeSchema(params.ModelSchema())
		return &offer{shown: properties(schema), back: back, tool: &provider.Tool{
			Name: alias, Description: describe(candidate), Schema: schema, SessionScoped: form.sessionScoped,
		}}
	}).(*offer)
}

// named returns the arguments of a model under the names of their parameters.
func (o *offer) named(arguments map[string]any) map[string]any {
	if len(o.back) == 0 {
		return arguments
	}
	named := make(map[string]any, len(arguments))
	for wire, value := range arguments {
		named[cmp.Or(o.back[wire], wire)] = value
	}
	return named
}

// describe adds a few of the tool's examples to its description: what a user would
// say tells a model more than what the tool does.
func describe(candidate matcher.Candidate) string {
	examples := candidate.Tool.Examples[:min(len(candidate.Tool.Examples), maxExamples)]
	if len(examples) == 0 {
		return candidate.Tool.Description
	}
	quoted := make([]string, len(examples))
	for i, example := range examples {
		quoted[i] = `"` + text.Clip(example, maxExampleBytes) + `"`
	}
	return strings.TrimSpace(candidate.Tool.Description + "\nA user may say: " + strings.Join(quoted, ", "))
}
