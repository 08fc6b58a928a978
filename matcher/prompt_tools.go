package matcher

import (
	"cmp"
	"slices"
	"strings"
)

// Limits on the examples that are shown with a tool.
const (
	mostExamples     = 3
	mostExampleBytes = 120
)

// turn is one message on its way through the model.
type turn struct {
	request Request
	names   *names
	model   completer
	ask     completionRequest
	ids     map[string]bool // of the calls in the request
}

// newTurn lays out the request for a message: what changes least comes first. The
// rules, the tools by name, the history, the clock, and last the message, alone.
func (l *LLM) newTurn(request Request) (*turn, error) {
	model, name, err := l.choose(request.App)
	if err != nil {
		return nil, err
	}
	t := &turn{request: request, names: newNames(request.Candidates), model: model, ids: map[string]bool{}}
	seen := request.History[HistoryStart(len(request.History), l.options.History):]
	t.ask = completionRequest{Model: name, Tools: t.tools(l.retriever, l.options.Limit)}
	t.ask.Messages = append(t.ask.Messages, message{Role: roleSystem, Text: systemText(request)})
	t.ask.Messages = append(t.ask.Messages, t.history(seen)...)
	t.ask.Messages = append(t.ask.Messages,
		message{Role: roleSystem, Text: nowMessage(request)},
		message{Role: roleUser, Text: request.Text})
	return t, nil
}

// tools returns the definitions that are offered, at most limit of them.
func (t *turn) tools(retriever *Retriever, limit int) []toolDefinition {
	offered := t.request.Candidates
	if len(offered) > limit {
		offered, _ = retriever.Retrieve(t.request, limit)
		offered = offered[:min(len(offered), MostTools)]
	}
	definitions := make([]toolDefinition, len(offered))
	for i, candidate := range offered {
		schema, _ := safeSchema(candidate.Tool.Params().ModelSchema())
		definitions[i] = toolDefinition{
			Name:        t.names.wireName(candidate.Tool.Name),
			Description: describe(candidate),
			Schema:      schema,
			Passing:     candidate.Repository.SessionID != "",
		}
	}
	slices.SortFunc(definitions, func(a, b toolDefinition) int { return cmp.Compare(a.Name, b.Name) })
	return definitions
}

// describe adds a few of the tool's examples to its description: what a user would
// say tells a model more than what the tool does.
func describe(candidate Candidate) string {
	examples := candidate.Tool.Examples[:min(len(candidate.Tool.Examples), mostExamples)]
	if len(examples) == 0 {
		return candidate.Tool.Description
	}
	quoted := make([]string, len(examples))
	for i, example := range examples {
		quoted[i] = `"` + clip(example, mostExampleBytes) + `"`
	}
	return strings.TrimSpace(candidate.Tool.Description + "\nA user may say: " + strings.Join(quoted, ", "))
}
