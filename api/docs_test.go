package api_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/repositories"
	"earshot/trigger/query"
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
			require.NotEmpty(t, operation["description"], name)
			parameters, _ := json.Marshal(operation["parameters"])
			for _, parameter := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(path, -1) {
				require.Contains(t, string(parameters), "#/components/parameters/"+parameter[1]+`"`, name)
			}
			require.Equal(t, strings.HasPrefix(path, "/v1/"), len(operation["security"].([]any)) > 0, name)
		}
	}
}

func TestEveryBodyOfTheDescriptionHasAnExampleThatFits(t *testing.T) {
	s := start(t)
	tried := 0
	walk("", s.description.document, func(pointer string, value map[string]any) {
		content, ok := value["content"].(map[string]any)
		if !ok {
			return
		}
		for kind := range content {
			at := pointer + "/content/" + escape(kind)
			example, ok := s.description.at(at)["example"]
			require.True(t, ok, at)
			tried++
			require.NoError(t, s.description.compile(t, at+"/schema").Validate(example), at)
		}
	})
	require.Greater(t, tried, 60)
}

func TestEveryFieldOfTheDescriptionsIsDescribed(t *testing.T) {
	s := start(t)
	fields := 0
	for _, path := range []string{"/openapi.json", "/asyncapi.json"} {
		walk("", document(t, s, path), func(pointer string, value map[string]any) {
			properties, ok := value["properties"].(map[string]any)
			if !ok || strings.HasSuffix(pointer, "/properties") {
				return
			}
			for name, field := range properties {
				fields++
				require.NotEmpty(t, field.(map[string]any)["description"], path+pointer+"/"+name)
			}
		})
	}
	require.Greater(t, fields, 200)
}

// What generators of clients stop at: a schema that is true or false, several types
// beside null, a format that nobody knows.
func TestTheDescriptionHasWhatGeneratorsTake(t *testing.T) {
	s := start(t)
	walk("", s.description.document, func(pointer string, value map[string]any) {
		if properties, ok := value["properties"].(map[string]any); ok && !strings.HasSuffix(pointer, "/properties") {
			for name, field := range properties {
				require.IsType(t, map[string]any{}, field, pointer+"/"+name)
			}
		}
		if types, ok := value["type"].([]any); ok {
			require.Len(t, types, 2, pointer)
			require.Contains(t, types, "null", pointer)
		}
		if format, ok := value["format"].(string); ok {
			require.NotContains(t, format, "earshot", pointer)
		}
		if value["type"] == "object" && value["properties"] == nil {
			require.NotNil(t, value["additionalProperties"], pointer)
		}
	})
}

func TestTheDescriptionSaysWhoMayCall(t *testing.T) {
	s := start(t)
	for operation := range served(t) {
		method, path, _ := strings.Cut(operation, " ")
		if !strings.HasPrefix(path, "/v1/") {
			continue
		}
		described := s.description.at("/paths/" + escape(path) + "/" + strings.ToLower(method))
		var roles []string
		for _, role := range described["security"].([]any)[0].(map[string]any)["key"].([]any) {
			roles = append(roles, role.(string))
		}
		require.ElementsMatch(t, strings.Fields(strings.NewReplacer("token", "session", "everybody", "", "own", "").Replace(permitted[operation])), roles, operation)
	}
}

func TestTheExampleBodiesAreTakenAsTheyStand(t *testing.T) {
	s := start(t)
	s.engine.answer, s.engine.records = json.RawMessage(fired), []query.Record{record}
	s.store.created = true
	s.store.apps = []*repositories.App{{ID: "clinic"}}
	tried := 0
	for path, item := range s.description.document["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			media := s.description.at("/paths/" + escape(path) + "/" + method + "/requestBody/content/application~1json")
			if media == nil || method == "patch" || strings.Contains(path, "/openai/") { // which no model is behind
				continue
			}
			body, err := json.Marshal(media["example"])
			require.NoError(t, err)
			place := strings.NewReplacer("{appId}", "clinic", "{sessionId}", "s1", "{repositoryId}", "booking", "{triggerId}", "t1").Replace(path)
			tried++
			got := s.call(strings.ToUpper(method), place, string(body), "Prefer: respond-async")
			require.Less(t, got.StatusCode, 300, "%s %s: %s", method, path, got.body)
		}
	}
	require.Equal(t, 20, tried)
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
		"tool.confirm.{appId}.{sessionId}.{name}", "tool.cancelled.{appId}.{sessionId}.{name}", "tool.duplicate.{appId}.{sessionId}.{name}",
		"chat.message.{appId}.{sessionId}", "chat.failed.{appId}.{sessionId}", "answer.{appId}.{triggerId}",
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
			delete(payload, "ok")
			require.Error(t, schema.Validate(payload), name)
		}
	}
}
