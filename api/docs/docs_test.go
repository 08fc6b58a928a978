package docs_test

import (
	"encoding/json"
	"html/template"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
)

func TestTheDescriptionHasTheRoutesThatAreServedAndNoOthers(t *testing.T) {
	s := apitest.Serve(t)
	described := map[string]bool{}
	for path, item := range s.Description.Document["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			described[strings.ToUpper(method)+" "+path] = true
		}
	}
	require.Equal(t, s.Routes(), described)
}

func TestEveryReferenceOfTheDescriptionsLeadsSomewhere(t *testing.T) {
	s := apitest.Serve(t)
	for _, path := range []string{"/openapi.json", "/asyncapi.json"} {
		d := apitest.NewDescription(t, s.Document(path))
		references := regexp.MustCompile(`"\$ref":\s*"#([^"]+)"`).FindAllStringSubmatch(string(s.Call("GET", path, "").Body), -1)
		require.NotEmpty(t, references)
		for _, reference := range references {
			require.NotNil(t, d.At(reference[1]), path+reference[1])
		}
	}
}

func TestEveryOperationSaysWhatItTakes(t *testing.T) {
	s := apitest.Serve(t)
	seen := map[string]bool{}
	for path, item := range s.Description.Document["paths"].(map[string]any) {
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

// Generated clients make a header of the name of each security scheme, also of those that are not used.
func TestHeadersOfTheDescriptionAreOnesThatCanBeSent(t *testing.T) {
	s := apitest.Serve(t)
	names := 0
	for _, kind := range []string{"securitySchemes", "parameters"} {
		for key, one := range s.Description.At("/components/" + kind) {
			if described := one.(map[string]any); described["in"] == "header" {
				names++
				require.Regexp(t, "^[A-Za-z0-9_-]+$", described["name"], key)
			}
		}
	}
	require.NotZero(t, names)
	for _, path := range []string{"/v1/apps/{appId}/sessions/{sessionId}/messages", "/v1/apps/{appId}/mcp", "/v1/apps/{appId}/triggers"} {
		operation := s.Description.Document["paths"].(map[string]any)[path].(map[string]any)["post"].(map[string]any)
		require.Equal(t, 1, strings.Count(operation["description"].(string), "{name}_token"), path)
		require.Len(t, operation["security"], 1, path)
	}
}

func TestEveryListHasPagesOfOneKind(t *testing.T) {
	s := apitest.Serve(t)
	lists := 0
	for path, item := range s.Description.Document["paths"].(map[string]any) {
		get, _ := item.(map[string]any)["get"].(map[string]any)
		responses, _ := json.Marshal(get["responses"])
		list := regexp.MustCompile(`/schemas/\w+List"`).FindString(string(responses))
		if list == "" {
			continue
		}
		lists++
		parameters, _ := json.Marshal(get["parameters"])
		for _, name := range []string{"limit", "after"} {
			require.Contains(t, string(parameters), "#/components/parameters/"+name+`"`, path)
		}
		require.Contains(t, s.Description.At("/components"+strings.TrimSuffix(list, `"`)+"/properties"), "next", path)
	}
	require.Greater(t, lists, 12)
}

func TestEveryBodyOfTheDescriptionHasAnExampleThatFits(t *testing.T) {
	s := apitest.Serve(t)
	tried := 0
	apitest.Walk("", s.Description.Document, func(pointer string, value map[string]any) {
		content, ok := value["content"].(map[string]any)
		if !ok {
			return
		}
		for kind := range content {
			at := pointer + "/content/" + apitest.Escape(kind)
			example, ok := s.Description.At(at)["example"]
			require.True(t, ok, at)
			tried++
			require.NoError(t, s.Description.Compile(t, at+"/schema").Validate(example), at)
		}
	})
	require.Greater(t, tried, 60)
}

func TestEveryFieldOfTheDescriptionsIsDescribed(t *testing.T) {
	s := apitest.Serve(t)
	fields := 0
	for _, path := range []string{"/openapi.json", "/asyncapi.json"} {
		apitest.Walk("", s.Document(path), func(pointer string, value map[string]any) {
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

// Generators fail on a schema that is true or false, several types besides null, and unknown formats.
func TestTheDescriptionHasWhatGeneratorsTake(t *testing.T) {
	s := apitest.Serve(t)
	apitest.Walk("", s.Description.Document, func(pointer string, value map[string]any) {
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

func TestTheEventsAreThoseOfTheContract(t *testing.T) {
	s := apitest.Serve(t)
	var addresses, requests []string
	events := s.Document("/asyncapi.json")
	for _, channel := range events["channels"].(map[string]any) {
		channel := channel.(map[string]any)
		address, is := channel["address"].(string)
		switch {
		case !is: // the replies channel, whose address NATS chooses
			continue
		case strings.HasPrefix(address, "earshot.v1."):
			requests = append(requests, address)
		default:
			addresses = append(addresses, address)
		}
		for _, parameter := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(address, -1) {
			require.Contains(t, channel["parameters"], parameter[1])
		}
	}
	require.ElementsMatch(t, []string{
		"tool.trigger.{appId}.{sessionId}.{name}", "app.{appId}.{resource}.{scope}", "tool.result.{appId}.{sessionId}.{name}",
		"tool.rejected.{appId}.{sessionId}.{name}", "tool.notmatching.{appId}.{sessionId}", "tool.changed.{appId}.{repositoryId}",
		"tool.confirm.{appId}.{sessionId}.{name}", "tool.cancelled.{appId}.{sessionId}.{name}", "tool.duplicate.{appId}.{sessionId}.{name}", "tool.webhook.{appId}.{webhookName}",
		"chat.message.{appId}.{sessionId}", "chat.failed.{appId}.{sessionId}", "answer.{appId}.{triggerId}",
	}, addresses)
	require.Len(t, events["operations"], len(addresses)+len(requests))
	for _, one := range []string{ // section 19, NATS
		"repository.{appId}.{repositoryId}", "repository.{appId}.{sessionId}.{repositoryId}", "delete-repository.{appId}.{sessionId}.{repositoryId}", "session.{appId}.{sessionId}",
		"get-session.{appId}.{sessionId}", "message.{appId}.{sessionId}", "commit.{appId}.{sessionId}.{messageId}", "withdraw.{appId}.{sessionId}.{messageId}",
		"messages.{appId}.{sessionId}", "trigger.{appId}", "trigger.{appId}.{sessionId}", "get-trigger.{appId}.{triggerId}", "confirm.{appId}.{triggerId}",
		"deny.{appId}.{triggerId}", "cancel.{appId}.{triggerId}", "answer.{appId}.{triggerId}",
	} {
		require.Contains(t, requests, "earshot.v1."+one)
	}
	require.Contains(t, events["channels"].(map[string]any)["withdrawMessage"].(map[string]any)["description"], "earshot.v1.retract.{appId}.{sessionId}.{messageId}, the earlier name, is still answered")
}

// TestRequestsOverNATSHaveTheBodiesOfREST compares the two descriptions.
func TestRequestsOverNATSHaveTheBodiesOfREST(t *testing.T) {
	s := apitest.Serve(t)
	events := apitest.NewDescription(t, s.Document("/asyncapi.json"))
	tried := 0
	for id, operation := range events.At("/operations") {
		reply, is := operation.(map[string]any)["reply"].(map[string]any)
		if !is {
			continue
		}
		require.Len(t, reply["messages"], 2, id)
		for _, message := range []string{id + "Request", id + "Reply"} {
			described := events.At("/components/messages/" + message)
			if described["payload"] == nil {
				continue
			}
			schema := events.Compile(t, "/components/messages/"+message+"/payload")
			for _, example := range described["examples"].([]any) {
				require.NoError(t, schema.Validate(example.(map[string]any)["payload"]), message)
				tried++
			}
		}
	}
	require.Greater(t, tried, 40)
	require.Error(t, events.Compile(t, "/components/messages/postMessageRequest/payload").Validate(map[string]any{"actor": "nobody"}))
}

func TestTheExamplesOfTheEventsFitTheirSchemas(t *testing.T) {
	s := apitest.Serve(t)
	events := s.Document("/asyncapi.json")
	d := apitest.NewDescription(t, events)
	for name, message := range d.At("/components/messages") {
		if strings.HasSuffix(name, "Request") || strings.HasSuffix(name, "Reply") || name == "problem" {
			continue // a request
		}
		for _, example := range message.(map[string]any)["examples"].([]any) {
			payload := example.(map[string]any)["payload"].(map[string]any)
			schema := d.Compile(t, "/components/messages/"+name+"/payload")
			require.NoError(t, schema.Validate(payload), name)
			delete(payload, "appId")
			delete(payload, "ok")
			require.Error(t, schema.Validate(payload), name)
		}
	}
}

func TestThePageListsEveryOperationFieldAndEvent(t *testing.T) {
	s := apitest.Serve(t)
	page := string(s.Call("GET", "/docs/reference/api", "").Is(200, "").Body)
	for operation := range s.Routes() {
		method, path, _ := strings.Cut(operation, " ")
		require.Contains(t, page, `<span class="method `+method+`">`+method+`</span><code class="path">`+path+`</code>`)
	}
	for _, kind := range []string{"/openapi.json", "/asyncapi.json"} {
		apitest.Walk("", s.Document(kind), func(pointer string, value map[string]any) {
			properties, ok := value["properties"].(map[string]any)
			if !ok || strings.HasSuffix(pointer, "/properties") {
				return
			}
			for name, field := range properties {
				require.True(t, strings.Contains(page, "<code>"+name+"</code>") || strings.Contains(page, "."+name+"</code>"), pointer+"/"+name)
				require.True(t, strings.Contains(page, template.HTMLEscapeString(field.(map[string]any)["description"].(string))), pointer+"/"+name)
			}
		})
	}
	for _, word := range []string{`id="faults"`, `id="undecided"`, "tool.notmatching.{appId}.{sessionId}", "RFC 9457", "webhook-signature", `name="viewport"`} {
		require.Contains(t, page, word)
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		require.Equal(t, 1, strings.Count(page, `id="`+link[1]+`"`), link[1])
	}
}

// A browser that obeys the policy loads only files of this service, and runs nothing inline.
func TestThePageLoadsNothingFromElsewhere(t *testing.T) {
	s := apitest.Serve(t)
	got := s.Call("GET", "/docs/reference/api", "")
	page := string(got.Body)
	require.Equal(t, "text/html; charset=UTF-8", got.Header.Get("Content-Type"))
	require.NotRegexp(t, `(?i)<script[^>]*>[^<]|<style|<img|<iframe|@import|\burl\(| style=| on[a-z]+="`, page)
	require.Equal(t, "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		got.Header.Get("Content-Security-Policy"))
	files := regexp.MustCompile(`(?:src|rel="stylesheet" href)="([^"]+)"`).FindAllStringSubmatch(page, -1)
	require.Len(t, files, 2)
	for _, file := range files {
		got := s.Call("GET", file[1], "").Is(200, "")
		require.Contains(t, got.Header.Get("Cache-Control"), "immutable")
		require.NotRegexp(t, `https?://|@import|\burl\(|innerHTML|localStorage|sessionStorage|document\.cookie`, string(got.Body))
	}
	s.Call("GET", "/docs/reference/api/docs.0.js", "").Problem(404, "this file does not exist")
}

func TestThePageIsSmall(t *testing.T) {
	s := apitest.Serve(t)
	size := 0
	page := string(s.Call("GET", "/docs/reference/api", "").Body)
	files := regexp.MustCompile(`"(/docs/reference/api/docs\.[^"]+)"`).FindAllStringSubmatch(page, -1)
	for _, path := range append(files, []string{"", "/docs/reference/api"}) {
		got := s.Call("GET", path[1], "", "Accept-Encoding: gzip")
		require.Equal(t, "gzip", got.Header.Get("Content-Encoding"), path[1])
		size += len(got.Body)
	}
	require.Less(t, size, 88<<10)
}

func TestTheRootLeadsToThePage(t *testing.T) {
	s := apitest.Serve(t)
	require.Equal(t, "/docs", s.Call("GET", "/", "", "Authorization: ").Is(302, "").Header.Get("Location"))
}
