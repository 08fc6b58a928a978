package mcp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger/scope"
)

// tool is a tool as an agent sees it.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations *annotations    `json:"annotations,omitempty"`
	Meta        map[string]any  `json:"_meta,omitempty"`
}

// annotations are hints of what a call does.
type annotations struct {
	ReadOnly   bool `json:"readOnlyHint,omitempty"`
	Idempotent bool `json:"idempotentHint,omitempty"`
}

// Which user a tool needs, as Toolbox's clients read it: authInvoke lists services of which one
// must have verified the user and those without which a required parameter is not filled,
// authParam has those of each parameter that comes from an ID token. The names with a host are those of 2026, the others those of before.
var (
	invokeKeys = []string{"com.google.cloud/authInvoke", "toolbox/authInvoke"}
	paramKeys  = []string{"com.google.cloud/authParam", "toolbox/authParam"}
)

// shown is the tool as an agent sees it.
func shown(of *repositories.Tool) tool {
	t := tool{Name: of.Name, Description: of.Shown(), InputSchema: inputSchema(of), Annotations: hints(of)}
	if t.Description == "" {
		t.Description = of.Name // clients refuse a tool without one
	}
	if !of.AsksForUser() {
		return t
	}
	t.Meta = map[string]any{}
	filled, invoke := map[string][]string{}, slices.Clone(of.AuthRequired)
	for _, parameter := range of.Params().Placed() {
		for _, claim := range parameter.Claims {
			filled[parameter.Name] = append(filled[parameter.Name], claim.Service)
		}
		// Toolbox's SDK takes a token only for what it sees, and inputSchema does not show it.
		if service := filled[parameter.Name]; parameter.Required && len(service) == 1 && !slices.Contains(invoke, service[0]) {
			invoke = append(invoke, service[0])
		}
	}
	for i := range invokeKeys {
		if len(invoke) > 0 {
			t.Meta[invokeKeys[i]] = invoke
		}
		if len(filled) > 0 {
			t.Meta[paramKeys[i]] = filled
		}
	}
	return t
}

// inputSchema is what models are shown, and the dialect that it is in: without it, an agent would
// read an older one as the one of its revision.
func inputSchema(of *repositories.Tool) json.RawMessage {
	schema, dialect := of.Params().ModelSchema(), of.Params().Dialect()
	if dialect == "" {
		return schema
	}
	return append([]byte(`{"$schema":`+exactQuote(dialect)+`,`), schema[1:]...)
}

// hints says of a call that only reads that it does, and of one that may be repeated that it
// may, where somebody has said so.
func hints(of *repositories.Tool) *annotations {
	method := of.Method
	if of.Request != nil && of.Request.Method != "" {
		method = of.Request.Method
	}
	if method == http.MethodGet || method == http.MethodHead {
		return &annotations{ReadOnly: true, Idempotent: true}
	}
	return nil
}

// Bounds of the lists that are kept: how many, and how long (bytes) each may be. A longer one is
// made for each request.
const (
	keptLists = 64
	keptList  = 8 << 20
)

// lists keeps the JSON of lists of tools, by what they list, so that a list of thousands costs
// no more than its bytes.
type lists struct {
	made *lru.Cache[listed, []byte]
}

// listed is what a list lists: the tools of a version of a scope, or of one repository in it.
type listed struct{ appID, version, repositoryID string }

func newLists() *lists {
	made, _ := lru.New[listed, []byte](keptLists) // fails for a size of 0 only
	return &lists{made}
}

// of returns the JSON of a list.
func (l *lists) of(appID, repositoryID string, catalog *scope.Catalog) ([]byte, error) {
	key := listed{appID, catalog.Version(), repositoryID}
	if text, hit := l.made.Get(key); hit {
		return text, nil
	}
	text, err := listOf(catalog.Tools(repositoryID))
	if err == nil && len(text) <= keptList {
		l.made.Add(key, text)
	}
	return text, err
}

func listOf(candidates []matcher.Candidate) ([]byte, error) {
	tools := make([]tool, len(candidates))
	for i, one := range candidates {
		tools[i] = shown(one.Tool)
	}
	return exactjson.Encode(tools)
}

// How long a client may keep a list: not at all. Tools come and go at any moment, and whoever
// wants to hear of it subscribes.
const listLife = `"ttlMs":0,"cacheScope":"private",`

// listTools answers tools/list, with all tools in one page.
func (x *exchange) listTools() error {
	text, err := x.listed()
	if err != nil {
		return x.fail(err)
	}
	head := `{`
	if x.request.modern {
		head = `{"resultType":"complete",` + listLife + `"_meta":` + identifiedText + `,`
	}
	return x.stream(head+`"tools":`, text, "}}\n")
}

// identifiedText is the JSON of identified.
var identifiedText = string(exactjson.EncodeOrNull(identified))

func (x *exchange) listed() ([]byte, error) {
	if x.searches() {
		return searchTools, nil
	}
	catalog, err := x.server.Engine.Catalog(x.ctx(), x.scope().AppID, x.scope().SessionID)
	if err != nil {
		return nil, err
	}
	return x.server.lists.of(x.scope().AppID, x.c.Param("repositoryId"), catalog)
}

// stream writes a result around a text that is not copied for it.
func (x *exchange) stream(head string, text []byte, tail string) error {
	head = `{"jsonrpc":"2.0","id":` + string(x.request.ID) + `,"result":` + head
	out := x.c.Response()
	out.Header().Set("Content-Type", "application/json")
	out.Header().Set("Content-Length", strconv.Itoa(len(head)+len(text)+len(tail)))
	out.WriteHeader(http.StatusOK)
	for _, part := range [][]byte{[]byte(head), text, []byte(tail)} {
		if _, err := out.Write(part); err != nil {
			return nil // nobody is there any more
		}
	}
	return nil
}
