package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
)

const root = "../.."

func TestNoticeHasWhatIsLinkedIn(t *testing.T) {
	want := testbed.Got(notice(t.Context()))(t)
	got := testbed.Read(t, filepath.Join(root, "NOTICE"))
	require.True(t, want == got, "NOTICE is not that of what is linked in; write it with: go run ./deploy/release")
}

// TestTheProfileIsOfTheFunctionsThatThereAre compares the profile of release.sh with the source: renamed functions gain nothing.
func TestTheProfileIsOfTheFunctionsThatThereAre(t *testing.T) {
	t.Chdir(root)
	require.Contains(t, testbed.Read(t, "deploy/release/release.sh"), "go build -pgo=auto ")
	out := testbed.Got(exec.Command("go", "tool", "pprof", "-top", "-cum", "-nodecount=500", "cmd/earshot/default.pgo").Output())(t)
	sources := map[string]string{} // by folder
	there, gone := 0, []string{}
	for _, of := range regexp.MustCompile(`(?m) earshot/([\w/]+)\.(?:\(?\*?(\w+)\)?\.)?([a-zA-Z]\w*)(?: \(inline\))?$`).FindAllStringSubmatch(string(out), -1) {
		if sources[of[1]] == "" {
			files := testbed.Got(filepath.Glob(of[1] + "/*.go"))(t)
			for _, file := range files {
				sources[of[1]] += testbed.Read(t, file)
			}
		}
		receiver := ""
		if of[2] != "" {
			receiver = `\(\w* ?\*?` + of[2] + `\b[^)]*\) `
		}
		if regexp.MustCompile(`(?m)^func ` + receiver + of[3] + `\b`).MatchString(sources[of[1]]) {
			there++
		} else {
			gone = append(gone, strings.TrimSpace(of[0]))
		}
	}
	require.Greater(t, there, 50, "%s", out)
	require.Less(t, len(gone), there/3, "the profile has aged; make it anew, as release.sh says. Functions that are gone: %q", gone)
}

// TestArchivesHaveWhatDocumentsLinkTo follows the links of every document that release.sh packs.
func TestArchivesHaveWhatDocumentsLinkTo(t *testing.T) {
	t.Chdir(root)
	command := regexp.MustCompile(`(?s)git ls-files LICENSE.*?\|`).FindString(testbed.Read(t, "deploy/release/release.sh"))
	out := testbed.Got(exec.Command("sh", "-c", strings.TrimSuffix(command, "|")).Output())(t)
	packed := strings.Fields(string(out))
	require.Subset(t, packed, []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "SECURITY.md", "deploy/docs/operations.md"})

	links := regexp.MustCompile(`\]\(([^)\s#]+)|(?:src|href)="([^"#]+)"`)
	quoted := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`") // shown, not linked
	size := 0
	for _, document := range packed {
		text := testbed.Got(os.ReadFile(document))(t)
		size += len(text)
		if path.Ext(document) != ".md" {
			continue
		}
		for _, link := range links.FindAllSubmatch(quoted.ReplaceAll(text, nil), -1) {
			to := path.Join(path.Dir(document), string(link[1])+string(link[2]))
			if strings.Contains(to, ":") || !filepath.IsLocal(to) {
				continue
			}
			there := slices.ContainsFunc(packed, func(file string) bool { return file == to || strings.HasPrefix(file, to+"/") })
			require.True(t, there, "%s links to %s, which is in no archive", document, to)
		}
	}
	require.Less(t, size, 4<<20)
}

func TestTheProgramSaysItsVersionEverywhere(t *testing.T) {
	program := testbed.Program(t)
	out := testbed.Got(exec.Command(program, "version", "--json").Output())(t)
	var is struct{ Version, Commit string }
	require.NoError(t, json.Unmarshal(out, &is))
	require.NotEmpty(t, is.Version)

	calls := make(chan string, 1)
	endpoint := testbed.Serve(t, "", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { calls <- r.UserAgent() }))
	service := testbed.NewDev(t, nil)
	service.Call("PUT", "/v1/apps/clinic", `{}`)
	service.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"ring","description":"Ring the bell","url":"`+endpoint+`"}]}`)
	service.Call("POST", "/v1/apps/clinic/triggers", `{"name":"ring","source":"task"}`)
	require.Equal(t, "earshot/"+is.Version, <-calls)

	consumer, err := natstest.JetStream(t, service.NATS).OrderedConsumer(t.Context(), "EARSHOT", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"tool.trigger.>"}})
	require.NoError(t, err)
	require.Equal(t, is.Version, testbed.Got(consumer.Next(jetstream.FetchMaxWait(testbed.Patience)))(t).Headers().Get("ce-earshotversion"))

	for _, description := range []string{"/openapi.json", "/asyncapi.json"} {
		var document struct{ Info struct{ Version string } }
		require.NoError(t, json.Unmarshal(service.Call("GET", description, ""), &document))
		require.Equal(t, is.Version, document.Info.Version, description)
	}
	require.Regexp(t, `(?m)^earshot_build_info\{commit="`+is.Commit+`",go="go1[^"]*",version="`+regexp.QuoteMeta(is.Version)+`"\} 1$`, string(service.Call("GET", "/metrics", "")))
}
