package mcp

import (
	"cmp"
	"encoding/json"

	"earshot/repositories"
	"earshot/repositories/exactjson"
)

// An agent that is shown thousands of tools pays for all of them with each request, and chooses
// worse. With ?tools=search it sees two instead: one that finds tools by what they do, and one
// that calls what was found.
const (
	searchMode = "search"
	searchTool = "search_tools"
	callTool   = "call_tool"
)

// Bounds of how many tools are found.
const (
	foundTools = 10
	mostFound  = 50
)

// searchTools is the JSON of the two tools.
var searchTools = exactjson.EncodeOrNull([]tool{
	{
		Name: searchTool, Description: "Find tools by what they do. Answers with names, descriptions and input schemas, the best first; call one with call_tool.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"what is to be done, in a few words"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":50,"default":10,"description":"the most tools to answer with"}},"required":["query"]}`),
		Annotations: &annotations{ReadOnly: true, Idempotent: true},
	},
	{
		Name: callTool, Description: "Call a tool that search_tools has found.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"of the tool"},` +
			`"arguments":{"type":"object","description":"as the tool's input schema says"}},"required":["name"]}`),
	},
})

// searches reports whether the server of the URL shows the two tools alone.
func (x *exchange) searches() bool { return x.c.QueryParam("tools") == searchMode }

// found is a tool that was found.
type found struct {
	tool
	Score float64 `json:"score"`
}

// search answers a call of search_tools.
func (x toolCall) search() error {
	query, _ := x.request.Params.Arguments["query"].(string)
	limit, fault := x.limit()
	if query == "" || fault != "" {
		return x.reply(x.faulty(cmp.Or(fault, "query: is required, a text that says what is to be done")), nil)
	}
	tools, err := x.server.Engine.SearchTools(x.ctx(), x.scope().AppID, x.scope().SessionID, query, limit)
	if err != nil {
		return x.fail(err)
	}
	list := []found{}
	for _, one := range tools {
		if in := x.c.Param("repositoryId"); in == "" || in == one.RepositoryID {
			list = append(list, found{tool{Name: one.Name, Description: one.Description, InputSchema: one.InputSchema}, one.Score})
		}
	}
	text, err := exactjson.Encode(map[string]any{"tools": list})
	return x.reply(x.resultOf(text), err)
}

func (x toolCall) limit() (limit int, fault string) {
	given, has := x.request.Params.Arguments["limit"]
	if !has {
		return foundTools, ""
	}
	number, _ := given.(json.Number)
	count, err := number.Int64()
	if err != nil || count < 1 || count > mostFound {
		return 0, "limit: is no whole number from 1 to 50"
	}
	return int(count), ""
}

// unwrap makes a call of call_tool one of the tool that it names.
func (x toolCall) unwrap() (fault string) {
	p := &x.request.Params
	name, _ := p.Arguments["name"].(string)
	if repositories.CheckToolName(name) != nil {
		return "name: is required, the name of a tool that search_tools has found"
	}
	given, has := p.Arguments["arguments"]
	arguments, isObject := given.(map[string]any)
	if has && given != nil && !isObject {
		return "arguments: is no object"
	}
	p.Name, p.Arguments, x.wrapped = name, arguments, true
	return ""
}
