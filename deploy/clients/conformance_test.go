//go:build nightly

package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

type event struct {
	ID, AppID, Name string
	Values          map[string]any
}

type laboratory struct{ *service }

func newLaboratory(t *testing.T) laboratory {
	t.Helper()
	l := laboratory{dev(t, "EARSHOT_ADMIN_KEY=")}
	go l.answer(l.stream())
	return l
}

// app has the tools that the conformance suite of MCP expects; their endpoint or subscriber answers like a user's.
func (l laboratory) app(t *testing.T, name string) string {
	t.Helper()
	fixtures := testbed.Read(t, "agents/conformance.json")
	endpoint := testbed.Serve(t, "", http.HandlerFunc(l.endpoint))
	l.Call("PUT", "/v1/apps/"+name, `{}`)
	l.Call("PUT", "/v1/apps/"+name+"/repositories/main", strings.ReplaceAll(fixtures, "%URL%", endpoint))
	return l.URL + "/v1/apps/" + name + "/mcp"
}

func (l laboratory) endpoint(w http.ResponseWriter, r *http.Request) {
	var called event
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &called) // an empty one is answered likewise
	var answer any = map[string]any{"ok": true}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/greet":
		answer = fmt.Sprintf("Hello, %v!", called.Values["name"])
	case "/text":
		answer = "This is a simple text response for testing."
	case "/error":
		w.WriteHeader(http.StatusUnprocessableEntity)
		answer = "This tool intentionally returns an error for testing"
	case "/change":
		l.post("PUT", "/v1/apps/"+called.AppID+"/repositories/changed", `{"tools":[{"name":"tool-`+called.ID[:8]+`"}]}`)
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (l laboratory) answer(stream jetstream.Consumer) {
	for {
		msg, err := stream.Next(jetstream.FetchMaxWait(time.Hour))
		if err != nil {
			return // the test is over
		}
		var fired event
		if !strings.HasPrefix(msg.Subject(), "tool.trigger.") || json.Unmarshal(msg.Data(), &fired) != nil {
			continue
		}
		answer, after := fmt.Sprintf(`{"ok":true,"result":"done for %v"}`, fired.Values["name"]), time.Duration(0)
		switch seconds, _ := fired.Values["seconds"].(float64); {
		case seconds > 10:
			continue // it is to be cancelled
		case fired.Name == "slow_compute":
			after = time.Duration(seconds) * time.Second
		case fired.Name == "failing_job":
			answer = `{"ok":false,"error":"it failed"}`
		case fired.Name != "test_tool_with_task":
			continue
		}
		time.AfterFunc(after, func() { l.post("POST", "/v1/apps/"+fired.AppID+"/triggers/"+fired.ID+"/answer", answer) })
	}
}

// post sends what the test does not wait for; where it fails, a scenario does.
func (l laboratory) post(method, path, body string) {
	_, _ = l.Ask(context.Background(), method, path, body)
}

type check struct{ ID, Name, Status, ErrorMessage string }

// suite runs scenarios against a server, and returns the checks of each.
type suite struct{ folder, url, revision string }

func (s suite) run(t *testing.T, arguments ...string) map[string][]check {
	results := t.TempDir()
	program := filepath.Join(s.folder, "node_modules/@modelcontextprotocol/conformance/dist/index.js")
	cmd := prepared(s.folder, node22(s.folder), append([]string{program, "server", "--url", s.url, "--spec-version", s.revision, "-o", results}, arguments...)...)
	said, _ := cmd.CombinedOutput() // it fails where a scenario does, which the results say better
	found := map[string][]check{}
	folders := testbed.Got(os.ReadDir(results))(t)
	require.NotEmpty(t, folders, string(said))
	for _, folder := range folders {
		text := testbed.Got(os.ReadFile(filepath.Join(results, folder.Name(), "checks.json")))(t)
		var checks []check
		require.NoError(t, json.Unmarshal(text, &checks))
		name := regexp.MustCompile(`^server-(.*)-\d{4}-\d{2}-\d{2}T`).FindStringSubmatch(folder.Name())
		require.NotNil(t, name, folder.Name())
		found[name[1]] = checks
	}
	return found
}

func notGood(checks []check) (good int, others []string) {
	for _, one := range checks {
		if one.Status == "SUCCESS" {
			good++
			continue
		}
		others = append(others, one.ID+" "+one.Status)
	}
	return good, others
}

type want struct {
	good   int
	others []string
}

// meets compares results. A scenario that is off is tried again, since some give a server less than a second.
func (s suite) meets(t *testing.T, scenario string, checks []check, wanted want) {
	for range 2 {
		if good, others := notGood(checks); good == wanted.good && slices.Equal(others, wanted.others) {
			return
		}
		checks = s.run(t, "--force", "--scenario", scenario)[scenario]
	}
	good, others := notGood(checks)
	require.Equal(t, wanted, want{good, others}, "%s %s: %+v", s.revision, scenario, checks)
}

// Scenarios of what a server of tools does not have: prompts, resources, completion, logging,
// progress, results that are no text, and a client that is asked for more than its user's words.
var elsewhere = regexp.MustCompile(`^(prompts-|resources-|completion-|logging-|sep-2164-|tools-call-(image|audio|embedded-resource|mixed-content|with-logging|with-progress|sampling|elicitation)$|` +
	`elicitation-|server-sse-polling$|input-required-result-(basic-sampling|basic-list-roots|multiple-input-requests|non-tool-request|capability-check)$)`)

// wanted is what the scenarios of each revision come to. One that is not in it is elsewhere.
var wanted = map[string]map[string]want{
	"2026-07-28": {
		"server-stateless": {27, []string{
			"sep-2575-server-rejects-undeclared-capability FAILURE", // no tool here needs what its client cannot do
			"sep-2575-missing-capability-http-400 FAILURE",
			"sep-2575-server-sends-prompts-list-changed-on-subscription SKIPPED",
		}},
		"tools-list": {4, nil}, "tools-call-simple-text": {2, nil}, "tools-call-error": {2, nil}, "json-schema-2020-12": {8, nil},
		"server-sse-multiple-streams": {1, []string{"server-sse-streams-functional INFO"}}, "dns-rebinding-protection": {2, nil},
		"caching": {4, []string{ // of lists that are not here
			"sep-2549-prompts-list-caching-hints FAILURE", "sep-2549-resources-list-caching-hints FAILURE",
			"sep-2549-resources-templates-list-caching-hints FAILURE", "sep-2549-resources-read-caching-hints SKIPPED",
		}},
		"http-header-validation": {14, nil}, "http-custom-header-server-validation": {10, nil},
		"input-required-result-basic-elicitation": {3, nil}, "input-required-result-request-state": {3, nil}, "input-required-result-multi-round": {4, nil},
		"input-required-result-missing-input-response": {2, nil}, "input-required-result-result-type": {2, nil}, "input-required-result-unsupported-methods": {2, nil},
		"input-required-result-tampered-state": {2, nil}, "input-required-result-ignore-extra-params": {2, nil}, "input-required-result-validate-input": {3, nil},
	},
	"2025-11-25": {
		"server-initialize": {2, sessionless}, "server-session-lifecycle": {0, []string{"server-session-lifecycle-skipped INFO"}}, "ping": {2, nil},
		"tools-list": {3, nil}, "tools-call-simple-text": {2, nil}, "tools-call-error": {2, nil}, "json-schema-2020-12": {8, nil},
		"server-sse-multiple-streams": {0, []string{"server-sse-multiple-streams-session WARNING"}}, "dns-rebinding-protection": {2, nil},
	},
	"2025-06-18": {
		"server-initialize": {2, sessionless}, "server-session-lifecycle": {0, []string{"server-session-lifecycle-skipped INFO"}}, "ping": {2, nil},
		"tools-list": {2, nil}, "tools-call-simple-text": {2, nil}, "tools-call-error": {2, nil},
	},
}

// sessionless is what a server without sessions is told.
var sessionless = []string{"server-session-id-visible-ascii INFO"}

// ofTasks lacks tasks-required-task-error: a client that declares no tasks is not refused here, and gets a result
// that says what is pending.
var ofTasks = map[string]want{
	"tasks-lifecycle":              {8, []string{"sep-2663-tasks-get-status-failed FAILURE"}}, // what fails is completed, for the model to read
	"tasks-capability-negotiation": {5, nil}, "tasks-wire-fields": {4, nil}, "tasks-request-state-removal": {3, nil}, "tasks-mrtr-input": {4, nil},
	"tasks-request-headers": {5, nil}, "tasks-dispatch-and-envelope": {9, nil}, "tasks-mrtr-composition": {2, nil},
}

func TestTheServerConformsToMCP(t *testing.T) {
	folder := withPackages(t, "agents")
	l := newLaboratory(t)
	for revision, scenarios := range wanted {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			s := suite{folder, l.app(t, "of-"+revision), revision}
			results := s.run(t, "--suite", "all")
			for scenario, checks := range results {
				if _, is := scenarios[scenario]; !is {
					require.Regexp(t, elsewhere, scenario, "is neither wanted nor elsewhere: %+v", checks)
				}
			}
			for scenario, wanted := range scenarios {
				s.meets(t, scenario, results[scenario], wanted)
			}
		})
	}
	for scenario, wanted := range ofTasks {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			s := suite{folder, l.app(t, scenario), "2026-07-28"}
			s.meets(t, scenario, s.run(t, "--force", "--scenario", scenario)[scenario], wanted)
		})
	}
}
