//go:build nightly

package clients

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// Both clients print the tool that fired with its value, the place of a fault, and the status of a refusal.
const printed = "fired request-for-appointment on Friday\nfault at /text\nrefused: 403\n"

func TestClientByOapiCodegenWorksWithTheService(t *testing.T) {
	s := dev(t)
	folder := copied(t, "golang")
	s.save("/openapi.json", filepath.Join(folder, "openapi.json"))
	run(t, folder, "go", "generate")
	run(t, folder, "go", "build", "-o", "clinic", ".")
	got := run(t, folder, filepath.Join(folder, "clinic"), s.URL, testbed.AdminKey)
	require.Equal(t, strings.Replace(printed, "fault at /text", "fault at /actor\nfault at /text", 1), got)
}

func TestToolsOfLangchaingoWorkWithTheService(t *testing.T) {
	beside(t, dev(t), "go/langchain")
}

func TestThePythonClientIsTyped(t *testing.T) {
	program, folder := python(t), copied(t, "python")
	run(t, folder, program, "-m", "mypy", "src/earshot", "generate.py", "tests/story.py")
	require.FileExists(t, filepath.Join(folder, "src/earshot/py.typed"))
}

// TestToolsOfServerEverythingAreOurs has the reference server of MCP, which keeps sessions and
// answers in streams, as a source: its tools fire by a button and by a chat.
func TestToolsOfServerEverythingAreOurs(t *testing.T) {
	_, port, err := net.SplitHostPort(testbed.Address(t))
	require.NoError(t, err)
	folder := withPackages(t, "everything")
	server := testbed.Start(t, folder, []string{"PORT=" + port}, filepath.Join(folder, "node_modules", ".bin", "mcp-server-everything"), "streamableHttp")
	server.Await(t, `listening on (port)`)
	s := dev(t)
	s.Call("PUT", "/v1/apps/lab", `{"sources":[{"name":"everything","type":"mcp","url":"http://127.0.0.1:`+port+`/mcp","allow":["get-*"]}]}`)
	var written struct {
		Tools []struct{ Name string }
		Notes []string
	}
	require.NoError(t, json.Unmarshal(s.Call("PUT", "/v1/apps/lab/repositories/all", `{"from":"everything"}`), &written))
	require.Empty(t, written.Notes)
	require.Len(t, written.Tools, 7)
	for body, want := range map[string]string{
		`{"name":"get-sum","source":"ui","values":{"a":2,"b":40}}`:                              `"The sum of 2 and 40 is 42."`,
		`{"name":"get-structured-content","source":"task","values":{"location":"Los Angeles"}}`: `{"temperature":73,"conditions":"Sunny / Clear","humidity":48}`,
	} {
		var fired struct {
			Call struct {
				State  string
				Result json.RawMessage
			}
		}
		require.NoError(t, json.Unmarshal(s.Call("POST", "/v1/apps/lab/triggers", body), &fired))
		require.Equal(t, "delivered", fired.Call.State, body)
		require.JSONEq(t, want, string(fired.Call.Result))
	}
}

// TestClientOfSERMASWorksAsItIs has the unmodified @sermas/api-client sign in by a module, and
// mqtt.js ask for whatever there is.
func TestClientOfSERMASWorksAsItIs(t *testing.T) {
	folder := withPackages(t, "sermas")
	s := dev(t)
	for app, secret := range map[string]string{"clinic": "s3cret-of-the-clinic", "other": "s3cret-of-the-other"} {
		s.Call("PUT", "/v1/apps/"+app, `{"modules":[{"moduleId":"avatar","secret":"`+secret+`"}]}`)
	}
	got := run(t, folder, "node", "sermas.mjs", s.URL, "clinic", "avatar", "s3cret-of-the-clinic", "other", "other-avatar", "s3cret-of-the-other")
	require.Regexp(t, "^"+anything(testbed.Read(t, "sermas/sermas.txt"))+"$", got)
}

// asked are the paths that SERMAS's client asks for, and told the topics that it subscribes to, in its own source.
var (
	asked = regexp.MustCompile(`url:"(/api[^"]+)"`)
	told  = regexp.MustCompile(`broker\.subscribe\("([^"]+)"`)
)

func TestPageSaysOfAllThatTheClientKnowsWhatBecomesOfIt(t *testing.T) {
	folder := withPackages(t, "sermas")
	source := testbed.Got(os.ReadFile(filepath.Join(folder, "node_modules/@sermas/api-client/index.js")))(t)
	page := testbed.Read(t, "../docs/from-sermas.md")
	paths, topics := asked.FindAllSubmatch(source, -1), told.FindAllSubmatch(source, -1)
	require.Greater(t, len(paths), 90)
	require.Greater(t, len(topics), 40)
	for _, path := range paths {
		require.Contains(t, page, string(path[1])+"`")
	}
	for _, topic := range topics {
		written := "`" + placeholder.ReplaceAllString(string(topic[1]), "{$1}") + "`"
		_, end, _ := strings.Cut(strings.TrimPrefix(written, "`app/{appId}/"), "/") // a row names more than one
		require.True(t, strings.Contains(page, written) || strings.Contains(page, "/"+end), written)
	}
}

var placeholder = regexp.MustCompile(`:(\w+)`)
