package mcp

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger/ledger"
)

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations *annotations    `json:"annotations"`
	Meta        map[string]any  `json:"_meta,omitempty"`
}

// annotations say what a call does, as far as its definition tells. All are said, since clients assume different defaults.
type annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
}

// annotate returns what a tool may change: anything, unless it is read-only. Its repeated call adds nothing if it is
// read-only, or equal values fire it once.
func annotate(readOnly, once bool) *annotations {
	return &annotations{ReadOnly: readOnly, Destructive: !readOnly, Idempotent: readOnly || once}
}

// Metadata about the users that a tool needs, for Toolbox's clients. authInvoke lists services, one of which
// must have verified the user, and services that fill required parameters. authParam lists the services of each
// parameter from an ID token. The keys with a host are those of 2026, the others earlier.
var (
	invokeKeys = []string{"com.google.cloud/authInvoke", "toolbox/authInvoke"}
	paramKeys  = []string{"com.google.cloud/authParam", "toolbox/authParam"}
)

func describeTool(app *repositories.App, definition *repositories.Tool) tool {
	t := tool{Name: definition.Name, InputSchema: definition.Params().ModelSchema(), Annotations: annotate(app.ReadOnly(definition), definition.Dedupe != nil)}
	t.Description = cmp.Or(definition.Shown(), definition.Name) // clients refuse a tool without a description
	if dialect := definition.Params().Dialect(); dialect != "" {
		// Without $schema, an agent would read an older dialect as its own.
		t.InputSchema = append([]byte(`{"$schema":`+exactQuote(dialect)+`,`), t.InputSchema[1:]...)
	}
	if !definition.AsksForUser() {
		return t
	}
	t.Meta = map[string]any{}
	claimServices, invoke := map[string][]string{}, slices.Clone(definition.AuthRequired)
	for _, parameter := range definition.Params().Placed() {
		for _, claim := range parameter.Claims {
			claimServices[parameter.Name] = append(claimServices[parameter.Name], claim.Service)
		}
		// Toolbox's SDK sends a token only for parameters it knows, and inputSchema does not show this one.
		if service := claimServices[parameter.Name]; parameter.Required && len(service) == 1 && !slices.Contains(invoke, service[0]) {
			invoke = append(invoke, service[0])
		}
	}
	for i := range invokeKeys {
		if len(invoke) > 0 {
			t.Meta[invokeKeys[i]] = invoke
		}
		if len(claimServices) > 0 {
			t.Meta[paramKeys[i]] = claimServices
		}
	}
	return t
}

// Limits of cached lists: their number, and their size in bytes. A longer one is built for each request.
const (
	maxCachedLists    = 64
	maxCachedListSize = 8 << 20
)

// listKey identifies a list: the tools of a version of a scope, or of one repository in it.
type listKey struct{ appID, version, repositoryID string }

// listHead begins a list for modern clients. They may not cache it (ttlMs): tools change at any time, which a
// subscription reports.
var listHead = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":` + string(exactjson.EncodeOrNull(serverMeta)) + `,`

// listTools answers tools/list with all tools in one page, without copying the list.
func (x *rpcCall) listTools() (any, error) {
	if x.request.Params.Cursor != "" {
		return nil, invalid(answer.InvalidBody, "cursor "+exactQuote(x.request.Params.Cursor)+" is of no list here: a list is whole, and gives none")
	}
	catalog, err := x.server.Engine.Catalog(x.ctx(), x.AppID, x.SessionID)
	if err != nil {
		return nil, err
	}
	list := searchTools
	if !x.inSearchMode() {
		key := listKey{x.AppID, catalog.Version(), x.c.Param("repositoryId")}
		text, hit := x.server.lists.Get(key)
		if !hit {
			candidates := catalog.Tools(key.repositoryID)
			tools := make([]tool, len(candidates))
			for i, candidate := range candidates {
				tools[i] = describeTool(catalog.App(), candidate.Tool)
			}
			if text, err = exactjson.Encode(tools); err != nil {
				return nil, err
			}
			if len(text) <= maxCachedListSize {
				x.server.lists.Add(key, text)
			}
		}
		list = text
	}

	head, tail := `{"jsonrpc":"2.0","id":`+string(x.request.ID)+`,"result":`, "}}\n"
	if x.request.modern {
		head += listHead + `"tools":`
	} else {
		head += `{"tools":`
	}
	out := x.c.Response()
	out.Header().Set("Content-Type", "application/json")
	out.Header().Set("Content-Length", strconv.Itoa(len(head)+len(list)+len(tail)))
	out.WriteHeader(http.StatusOK)
	for _, part := range [][]byte{[]byte(head), list, []byte(tail)} {
		if _, err := out.Write(part); err != nil {
			return nil, nil // the client is gone
		}
	}
	return nil, nil
}

// An agent with thousands of tools pays for all of them on each request, and chooses worse. With ?tools=search
// it gets two instead: one finds tools by what they do, the other calls a found tool.
const (
	searchMode = "search"
	searchTool = "search_tools"
	callTool   = "call_tool"
)

const (
	defaultFound = 10
	maxFound     = 50
)

var searchTools = exactjson.EncodeOrNull([]tool{
	{
		Name: searchTool, Description: "Find tools by what they do. Answers with names, descriptions and input schemas, the best first; call one with call_tool.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"what is to be done, in a few words"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":50,"default":10,"description":"the most tools to answer with"}},"required":["query"]}`),
		Annotations: annotate(true, false),
	},
	{
		Name: callTool, Description: "Call a tool that search_tools has found.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"of the tool"},` +
			`"arguments":{"type":"object","description":"as the tool's input schema says"}},"required":["name"]}`),
		Annotations: annotate(false, false),
	},
})

func (x *rpcCall) inSearchMode() bool { return x.c.QueryParam("tools") == searchMode }

func (x *rpcCall) search() (any, error) {
	query, _ := x.request.Params.Arguments["query"].(string)
	limit := int64(defaultFound)
	if limitValue, isGiven := x.request.Params.Arguments["limit"]; isGiven {
		number, _ := limitValue.(json.Number)
		var err error
		if limit, err = number.Int64(); err != nil || limit < 1 || limit > maxFound {
			return x.toolError("limit: is not a whole number from 1 to 50"), nil
		}
	}
	if query == "" {
		return x.toolError("query: is required, a text that says what is to be done"), nil
	}
	// The service's model of meanings may be asked about it, and a front-end or a user of an issuer is a stranger.
	if isFrontEnd := auth.PrincipalOf(x.c).FrontEnd(); isFrontEnd || ownerOf(x) != "" {
		if err := x.server.Engine.Count(x.ctx(), x.AppID, x.SessionID, ledger.Use{Messages: 1, FrontEnd: isFrontEnd}); err != nil {
			return nil, err
		}
	}
	catalog, err := x.server.Engine.Catalog(x.ctx(), x.AppID, x.SessionID)
	if err != nil {
		return nil, err
	}
	tools, err := catalog.Search(x.ctx(), x.c.Param("repositoryId"), query, int(limit))
	if err != nil {
		return nil, err
	}
	type found struct {
		tool
		Score float64 `json:"score"`
	}
	list := make([]found, len(tools))
	for i, match := range tools {
		list[i] = found{describeTool(catalog.App(), match.Candidate.Tool), match.Score}
	}
	text, err := exactjson.Encode(map[string]any{"tools": list})
	return x.resultOf(text), err
}
