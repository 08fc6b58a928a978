package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/repositories"
)

// served lists the routes that the router really has, as "METHOD /path/{id}".
func served(t *testing.T) map[string]bool {
	router, ok := api.New(api.Options{Store: &storeDouble{}, Engine: &engineDouble{}}).(*echo.Echo)
	require.True(t, ok)
	found := map[string]bool{}
	for _, route := range router.Routes() {
		if route.Method != "HEAD" {
			found[route.Method+" "+regexp.MustCompile(`:(\w+)`).ReplaceAllString(route.Path, "{$1}")] = true
		}
	}
	return found
}

func TestTheDescriptionHasTheRoutesThatAreServedAndNoOthers(t *testing.T) {
	s := start(t)
	described := map[string]bool{}
	for path, item := range s.description.document["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			described[strings.ToUpper(method)+" "+path] = true
		}
	}
	require.Equal(t, served(t), described)
}

func TestEveryReferenceOfTheDescriptionsLeadsSomewhere(t *testing.T) {
	s := start(t)
	for _, path := range []string{"/openapi.json", "/asyncapi.json"} {
		d := description{document: document(t, s, path)}
		references := regexp.MustCompile(`"\$ref":\s*"#([^"]+)"`).FindAllStringSubmatch(string(s.call("GET", path, "").body), -1)
		require.NotEmpty(t, references)
		for _, reference := range references {
			require.NotNil(t, d.at(reference[1]), path+reference[1])
		}
	}
}

func document(t *testing.T, s *service, path string) map[string]any {
	var found map[string]any
	require.NoError(t, json.Unmarshal(s.call("GET", path, "").is(200, "").body, &found))
	return found
}

func TestEveryOperationSaysWhatItTakes(t *testing.T) {
	s := start(t)
	seen := map[string]bool{}
	for path, item := range s.description.document["paths"].(map[string]any) {
		for method, operation := range item.(map[string]any) {
			operation := operation.(map[string]any)
			name := method + " " + path
			id := operation["operationId"].(string)
			require.False(t, seen[id], id)
			seen[id] = true
			require.NotEmpty(t, operation["summary"], name)
			parameters, _ := json.Marshal(operation["parameters"])
			for _, parameter := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(path, -1) {
				require.Contains(t, string(parameters), "#/components/parameters/"+parameter[1]+`"`, name)
			}
			require.Equal(t, strings.HasPrefix(path, "/v1/"), operation["security"] == nil, name)
		}
	}
}

func TestTheExamplesOfTheDescriptionFitTheirSchemas(t *testing.T) {
	s := start(t)
	tried := 0
	var walk func(pointer string, value any)
	walk = func(pointer string, value any) {
		object, _ := value.(map[string]any)
		if example, ok := object["example"]; ok && object["schema"] != nil {
			tried++
			require.NoError(t, s.description.compile(t, pointer+"/schema").Validate(example), pointer)
		}
		for key, part := range object {
			walk(pointer+"/"+escape(key), part)
		}
	}
	walk("", s.description.document)
	require.Greater(t, tried, 10)
}

func TestTheExampleBodiesAreTakenAsTheyStand(t *testing.T) {
	s := start(t)
	s.engine.answer = json.RawMessage(fired)
	s.store.created = true
	s.store.apps = []*repositories.App{{ID: "clinic"}}
	tried := 0
	for path, item := range s.description.document["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			media := s.description.at("/paths/" + escape(path) + "/" + method + "/requestBody/content/application~1json")
			if media == nil || method == "patch" {
				continue
			}
			body, err := json.Marshal(media["example"])
			require.NoError(t, err)
			place := strings.NewReplacer("{appId}", "clinic", "{sessionId}", "s1", "{repositoryId}", "booking").Replace(path)
			tried++
			got := s.call(strings.ToUpper(method), place, string(body), "Prefer: respond-async")
			require.Less(t, got.StatusCode, 300, "%s %s: %s", method, path, got.body)
		}
	}
	require.Equal(t, 10, tried)
}

func TestTheEventsAreThoseOfTheContract(t *testing.T) {
	s := start(t)
	var addresses []string
	events := document(t, s, "/asyncapi.json")
	for _, channel := range events["channels"].(map[string]any) {
		channel := channel.(map[string]any)
		address := channel["address"].(string)
		addresses = append(addresses, address)
		for _, parameter := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(address, -1) {
			require.Contains(t, channel["parameters"], parameter[1])
		}
	}
	require.ElementsMatch(t, []string{
		"tool.trigger.{appId}.{sessionId}.{name}", "app.{appId}.{resource}.{scope}", "tool.result.{appId}.{sessionId}.{name}",
		"tool.rejected.{appId}.{sessionId}.{name}", "tool.notmatching.{appId}.{sessionId}", "tool.changed.{appId}.{repositoryId}",
	}, addresses)
	require.Len(t, events["operations"], len(addresses))
}

func TestTheExamplesOfTheEventsFitTheirSchemas(t *testing.T) {
	s := start(t)
	events := document(t, s, "/asyncapi.json")
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("earshot:///openapi.json", any(events)))
	d := description{events, compiler, new(sync.Mutex)}
	for name, message := range d.at("/components/messages") {
		for _, example := range message.(map[string]any)["examples"].([]any) {
			payload := example.(map[string]any)["payload"].(map[string]any)
			schema := d.compile(t, "/components/messages/"+name+"/payload")
			require.NoError(t, schema.Validate(payload), name)
			delete(payload, "appId")
			require.Error(t, schema.Validate(payload), name)
		}
	}
}

func TestThePageListsEveryOperationAndEvent(t *testing.T) {
	s := start(t)
	page := string(s.call("GET", "/docs", "").is(200, "").body)
	for operation := range served(t) {
		method, path, _ := strings.Cut(operation, " ")
		require.Contains(t, page, `<span class="method">`+method+`</span><code>`+path+`</code>`)
	}
	for _, word := range []string{`id="faults"`, `id="undecided"`, "tool.notmatching.{appId}.{sessionId}", "RFC 9457", "&#34;pointer&#34;: &#34;/actor&#34;", `name="viewport"`} {
		require.Contains(t, page, word)
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		require.Contains(t, page, `id="`+link[1]+`"`)
	}
}

func TestThePageLoadsNothingAndRunsNothing(t *testing.T) {
	s := start(t)
	got := s.call("GET", "/docs", "")
	page, policy := string(got.body), got.Header.Get("Content-Security-Policy")
	require.Equal(t, "text/html; charset=UTF-8", got.Header.Get("Content-Type"))
	require.NotRegexp(t, `(?i)<script|<link|<img|<iframe| src=|@import|url\(| style=| on[a-z]+=`, page)
	require.Contains(t, policy, "default-src 'none'")
	require.NotContains(t, policy, "unsafe")
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(page)[1]
	hash := sha256.Sum256([]byte(style))
	require.Contains(t, policy, "'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'")
}

// description is what the service says of itself at /openapi.json.
type description struct {
	document map[string]any
	compiler *jsonschema.Compiler
	one      *sync.Mutex // the compiler is for one at a time, and calls are sent side by side
}

func describe(t testing.TB, url string) description {
	response, err := http.Get(url + "/openapi.json")
	require.NoError(t, err)
	defer response.Body.Close()
	document, err := jsonschema.UnmarshalJSON(response.Body)
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("earshot:///openapi.json", document))
	return description{document.(map[string]any), compiler, new(sync.Mutex)}
}

// foresees checks an answer against the description: its status, its type, its body.
func (d description) foresees(t testing.TB, method, path string, got answer) {
	t.Helper()
	at := "/paths/" + escape(templateOf(path)) + "/" + strings.ToLower(method)
	if d.at(at) == nil {
		return // HEAD, OPTIONS and what is not there
	}
	if len(got.body) == 0 {
		require.NotNil(t, d.at(at+"/responses/"+strconv.Itoa(got.StatusCode)), "status %d is not foreseen", got.StatusCode)
		return
	}
	kind, _, _ := strings.Cut(got.Header.Get("Content-Type"), ";")
	schema := d.schema(t, at+"/responses/"+strconv.Itoa(got.StatusCode), kind)
	if !strings.HasSuffix(kind, "json") {
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.body))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(value), "%s %s answered %d %s", method, path, got.StatusCode, got.body)
}

// schema compiles the schema of an answer. A status that is not foreseen by itself
// must be the problem that stands for all others.
func (d description) schema(t testing.TB, response, kind string) *jsonschema.Schema {
	t.Helper()
	if d.at(response) == nil {
		require.Equal(t, "application/problem+json", kind, "%s is not foreseen", response)
		response = "/components/responses/Problem"
	}
	schema, _ := d.at(response)["content"].(map[string]any)[kind].(map[string]any)["schema"].(map[string]any)
	require.NotNil(t, schema, "%s as %s is not foreseen", response, kind)
	if to, ok := schema["$ref"].(string); ok {
		return d.compile(t, strings.TrimPrefix(to, "#"))
	}
	return d.compile(t, response+"/content/"+escape(kind)+"/schema")
}

func (d description) compile(t testing.TB, pointer string) *jsonschema.Schema {
	t.Helper()
	d.one.Lock()
	defer d.one.Unlock()
	compiled, err := d.compiler.Compile("earshot:///openapi.json#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer))
	require.NoError(t, err)
	return compiled
}

// at follows a JSON Pointer and the reference that it leads to; nil for nothing.
func (d description) at(pointer string) map[string]any {
	found := d.document
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		found, _ = found[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)].(map[string]any)
	}
	if to, ok := found["$ref"].(string); ok {
		return d.at(strings.TrimPrefix(to, "#"))
	}
	return found
}

func escape(token string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(token) }

// templateOf writes a path with its ids replaced by their names.
func templateOf(path string) string {
	names := map[string]string{"apps": "{appId}", "sessions": "{sessionId}", "repositories": "{repositoryId}", "triggers": "{triggerId}", "keys": "{keyId}"}
	parts := strings.Split(path, "/")
	for i := 3; i < len(parts); i += 2 {
		parts[i] = names[parts[i-1]]
	}
	return strings.Join(parts, "/")
}
