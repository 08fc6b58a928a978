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
func (t *llmTurn) tools(retriever *retrieval.Retriever, limit int) []provider.Tool {
	offered := t.request.Candidates
	if len(offered) > limit {
		offered, _ = retriever.Retrieve(t.request, limit)
		offered = offered[:min(len(offered), MaxTools)]
	}
	definitions := make([]provider.Tool, len(offered))
	for i, candidate := range offered {
		schema, _ := safeSchema(candidate.Tool.Params().ModelSchema())
		definitions[i] = provider.Tool{
			Name:          t.names.alias(candidate.Tool.Name),
			Description:   describe(candidate),
			Schema:        schema,
			SessionScoped: candidate.Repository.SessionID != "",
		}
	}
	slices.SortFunc(definitions, func(a, b provider.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return definitions
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
