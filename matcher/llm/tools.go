package llm

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/matcher/llm/provider"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/plaintext"
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
	model   connection
	ask     provider.Request
	ids     map[string]bool // of the calls in the request
	limit   int             // of the tools in a request
	offered []matcher.Candidate
	trace   *matcher.Trace // nil where nobody asks why
	round   int            // of the answer that is read, from 1
	// finder is the name of the function that looks for tools which are not offered; empty
	// where all are.
	finder string
}

// newTurn lays out the request for a message: what changes least comes first. The tools,
// the rules, the history, the clock, and last the message, alone.
func (l *LLM) newTurn(request matcher.Request) (*llmTurn, error) {
	model, name, err := l.choose(request.App)
	if err != nil {
		return nil, err
	}
	t := &llmTurn{
		request: request, names: newToolNames(request.Candidates), model: model, ids: map[string]bool{},
		limit: l.limit(request.App), ask: provider.Request{Model: name},
	}
	seen := request.History[matcher.HistoryStart(len(request.History), l.options.History):]
	t.ask.Messages = append(make([]provider.Message, 0, 2*len(seen)+3), provider.Message{Role: provider.System, Text: systemText(request)})
	t.ask.Messages = append(t.history(t.ask.Messages, seen),
		provider.Message{Role: provider.System, Text: nowMessage(request)},
		provider.Message{Role: provider.User, Text: request.Text})
	return t, nil
}

// limit is how many tools a request has at most.
func (l *LLM) limit(app *repositories.App) int {
	if app != nil && app.Settings.LLM.MostTools > 0 {
		return min(app.Settings.LLM.MostTools, MaxTools)
	}
	return l.options.Limit
}

// offer adds the tools to the request: all of them, by name, or those that the conversation
// is about behind the function that looks for others.
func (t *llmTurn) offer(ctx context.Context, retriever *retrieval.Retriever) {
	if len(t.request.Candidates) > t.limit {
		t.finder = t.names.finder()
		var scores []matcher.Score
		t.offered, scores = retriever.Scored(ctx, t.request, max(1, t.limit-1))
		if t.trace != nil {
			t.trace.Offered, t.trace.Limit, t.trace.Scores = t.offered, t.limit, scores
		}
		t.ask.Tools = append([]*provider.Tool{finderTool(t.finder)}, t.definitions(t.offered)...)
		return
	}
	t.ask.Tools = t.definitions(t.request.Candidates)
	slices.SortFunc(t.ask.Tools, func(a, b *provider.Tool) int { return cmp.Compare(a.Name, b.Name) })
}

// definitions returns the tools as they are offered.
func (t *llmTurn) definitions(tools []matcher.Candidate) []*provider.Tool {
	definitions := make([]*provider.Tool, len(tools))
	for i, candidate := range tools {
		definitions[i] = offerOf(candidate, t.names.alias(candidate.Tool.Name)).tool
	}
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

// offerForm is what an offer depends on beside the tool. The alias is empty where it is the
// tool's own name, as nearly always.
type offerForm struct {
	alias         string
	sessionScoped bool
}

// The usual forms, which to look up costs no memory.
var ofApp, ofSession any = offerForm{}, offerForm{sessionScoped: true}

// offerOf returns how a tool is offered under an alias. It is worked out once in the life of
// the tool.
func offerOf(candidate matcher.Candidate, alias string) *offer {
	params, session := candidate.Tool.Params(), candidate.Repository.SessionID != ""
	form := ofApp
	if session {
		form = ofSession
	}
	if alias != candidate.Tool.Name {
		form = offerForm{alias, session}
	}
	return params.Derived(form, func() any {
		schema, back := safeSchema(params.ModelSchema())
		return &offer{shown: properties(schema), back: back, tool: &provider.Tool{
			Name: alias, Description: describe(candidate), Schema: schema, SessionScoped: session,
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

// wires are the names under which a model knows parameters.
func (o *offer) wires(names []string) (wires []string) {
	for _, wire := range o.shown {
		if slices.Contains(names, cmp.Or(o.back[wire], wire)) {
			wires = append(wires, wire)
		}
	}
	return wires
}

// describe adds a few of the tool's examples to its description: what a user would
// say tells a model more than what the tool does.
func describe(candidate matcher.Candidate) string {
	examples := candidate.Tool.Spoken()
	examples = examples[:min(len(examples), maxExamples)]
	if len(examples) == 0 {
		return candidate.Tool.Shown()
	}
	quoted := make([]string, len(examples))
	for i, example := range examples {
		quoted[i] = `"` + text.Clip(plaintext.Text(example), maxExampleBytes) + `"`
	}
	return strings.TrimSpace(candidate.Tool.Shown() + "\nA user may say: " + strings.Join(quoted, ", "))
}
