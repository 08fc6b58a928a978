//go:build nightly

package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/chromiumtest"
)

func TestTypesOfTheTypeScriptClientAreUpToDate(t *testing.T) {
	folder, s := withPackages(t, "typescript"), dev(t)
	s.save("/openapi.json", filepath.Join(folder, "openapi.json"))
	s.save("/asyncapi.json", filepath.Join(folder, "asyncapi.json"))
	run(t, folder, "npm", "run", "--silent", "generate")
	upToDate(t, filepath.Join(folder, "src/schema.ts"), "typescript/src/schema.ts")
}

// unpacked is a folder in which a packed client is installed.
func unpacked(t *testing.T, archive string) (folder, installed string) {
	folder = t.TempDir()
	installed = filepath.Join(folder, "node_modules/@earshot/client")
	require.NoError(t, os.MkdirAll(installed, 0o700))
	run(t, folder, "tar", "-xzf", archive, "--strip-components=1", "-C", installed)
	return folder, installed
}

func consumer(t *testing.T) string {
	client := withPackages(t, "typescript")
	run(t, client, "npm", "pack", "--silent")
	packed := testbed.Got(filepath.Glob(filepath.Join(client, "*.tgz")))(t)
	require.Len(t, packed, 1)
	folder, installed := unpacked(t, packed[0])
	for _, name := range []string{"README.md", "LICENSE", "package.json", "dist/index.js", "dist/index.d.ts"} {
		require.FileExists(t, filepath.Join(installed, name))
	}
	for _, name := range []string{"@types", "openapi-fetch", "openapi-typescript-helpers", "undici-types"} {
		require.NoError(t, os.Symlink(filepath.Join(client, "node_modules", name), filepath.Join(folder, "node_modules", name)))
	}
	require.NoError(t, os.CopyFS(filepath.Join(folder, "test"), os.DirFS(filepath.Join(client, "test"))))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"type":"module"}`), 0o600))
	require.NoError(t, os.Rename(filepath.Join(client, "tsconfig.json"), filepath.Join(folder, "tsconfig.json")))
	run(t, folder, filepath.Join(client, "node_modules/.bin/tsc"), "-p", "test")
	return folder
}

func TestTheTypeScriptClientLivesAStory(t *testing.T) {
	folder, s := consumer(t), dev(t)
	between, network := troubleBefore(t, s)
	t.Setenv("EARSHOT_URL", s.URL)
	t.Setenv("EARSHOT_KEY", testbed.AdminKey)
	t.Setenv("DESK_URL", desk(t))
	t.Setenv("EARSHOT_TROUBLE", network)
	run(t, folder, "node", "built/story.js")
	streams, lost := between.came("/v1/apps/clinic-typescript/sessions/trouble/events")
	require.GreaterOrEqual(t, streams, 3, "one broke off and one fell silent; on a busy machine others do")
	require.Equal(t, 4, lost)
	require.Equal(t, printed, run(t, folder, "node", "built/openapi-fetch.js", s.URL, testbed.AdminKey))
	pageWithTheClient(t, s, filepath.Join(folder, "node_modules/@earshot/client/dist"))
}

const forThePage = `{"tools":[
	{"name":"request-for-appointment","description":"User needs an appointment","examples":["I want an appointment"],"url":"%s",
	 "schema":[{"parameter":"day","type":"string","required":true,"ask":"Which day suits you?","allowedValues":["Monday","Friday"]}]},
	{"name":"turn-the-page","description":"Turn the page of the leaflet","answer":{"within":"1m"},"request":{"timeout":"1m"}}]}`

// pageWithTheClient tries the files of the client in a browser, on a page of another origin than the service.
func pageWithTheClient(t *testing.T, s *service, dist string) {
	t.Helper()
	routes := http.NewServeMux()
	page := testbed.Serve(t, "", routes)
	s.Call("PUT", "/v1/apps/page", fmt.Sprintf(`{"settings":{"allowedOrigins":[%q]}}`, page))
	s.Call("PUT", "/v1/apps/page/repositories/desk", fmt.Sprintf(forThePage, desk(t)))
	routes.Handle("GET /earshot/", http.StripPrefix("/earshot/", http.FileServer(http.Dir(dist))))
	routes.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "typescript/test/page.html") })
	routes.HandleFunc("GET /where", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"url": s.URL, "app": "page", "session": "s1"})
	})
	routes.HandleFunc("POST /token", func(w http.ResponseWriter, _ *http.Request) {
		var made struct{ Token string }
		_ = json.Unmarshal(s.Call("POST", "/v1/apps/page/sessions/s1/token", `{}`), &made)
		_, _ = w.Write([]byte(made.Token))
	})

	window, end := chromedp.NewContext(chromiumtest.Browser(t))
	t.Cleanup(end)
	shows := func(expression string) {
		var text string
		require.Eventually(t, func() bool {
			holds, err := chromedp.Run(window, chromedp.Evaluate[bool](expression))
			if err == nil && !holds {
				text, _ = chromedp.Run(window, chromedp.Evaluate[string]("document.body.innerText"))
			}
			return err == nil && holds
		}, testbed.Patience, testbed.Glance, "%s: %s", expression, &text)
	}
	say := func(text string) {
		require.NoError(t, chromedp.Do(window, chromedp.SetValue("#text", text), chromedp.Click("button")))
	}
	require.NoError(t, chromedp.Do(window, chromedp.Navigate(page)))
	shows(`document.body.dataset.ready === "yes"`)
	say("I want an appointment")
	shows(`document.querySelector("#ask").textContent === "Which day suits you?"`)
	say("Friday")
	shows(`["appointment on Friday", "booked on Friday"].every((text) => document.querySelector("#log").textContent.includes(text))`)
	say("turn the page")
	shows(`document.querySelector("#log").textContent.includes("turned: page 2")`)
	say(" ")
	shows(`document.querySelector("#log").lastChild.textContent === "problem 400 at /text"`)
}

func TestClientsHaveTheLicenseOfTheProject(t *testing.T) {
	license := testbed.Read(t, "../../LICENSE")
	for _, folder := range []string{"typescript", "python"} {
		require.Equal(t, license, testbed.Read(t, filepath.Join(folder, "LICENSE")), folder)
	}
}

func TestTheDescriptionOfTheEventsIsAsyncAPI(t *testing.T) {
	folder := withPackages(t, "typescript")
	// Generators of code read 3.0, and hardly any reads 3.1, of which nothing is needed here.
	file := testbed.Got(os.Open(filepath.Join(folder, "node_modules/@asyncapi/specs/schemas/3.0.0-without-$id.json")))(t)
	defer file.Close()
	official := testbed.Got(jsonschema.UnmarshalJSON(file))(t)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("asyncapi.json", official))
	schema := testbed.Got(compiler.Compile("asyncapi.json"))(t)
	require.NoError(t, schema.Validate(testbed.Got(jsonschema.UnmarshalJSON(bytes.NewReader(dev(t).Call("GET", "/asyncapi.json", ""))))(t)))
}

func withPackages(t *testing.T, name string) string {
	t.Helper()
	testbed.Need(t, "node", "npm")
	packages := filepath.Join(scratch, name)
	out, err := installed[name]()
	if unreachable.Match(out) {
		testbed.Missing(t, "npm cannot reach its registry, from which the packages of the lock file come")
	}
	require.NoError(t, err, string(out))
	folder := copied(t, name)
	require.NoError(t, os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(folder, "node_modules")))
	return folder
}

// installed put the packages of a lock file into a folder of scratch, once for all tests.
var installed = map[string]func() ([]byte, error){}

func init() {
	for _, name := range []string{"typescript", "agents", "chat", "sermas", "everything"} {
		installed[name] = sync.OnceValues(func() ([]byte, error) {
			folder := filepath.Join(scratch, name)
			err := os.MkdirAll(folder, 0o700)
			for _, file := range []string{"package.json", "package-lock.json"} {
				text, failed := os.ReadFile(filepath.Join(name, file))
				err = errors.Join(err, failed, os.WriteFile(filepath.Join(folder, file), text, 0o600))
			}
			if err != nil {
				return nil, err
			}
			return prepared(folder, "npm", "ci", "--no-audit", "--no-fund").CombinedOutput()
		})
	}
}

// unreachable is what npm says without a network, which is no fault of what is tested.
var unreachable = regexp.MustCompile(`E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|NETUNREACH)|ERR_SOCKET_TIMEOUT`)

func TestTheClientsArePackedAsTheyArePublished(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	run(t, "../..", "go", "run", "./deploy/release", "-clients", made, "-version", "7.8.9", "-modpath", "example.org/you/earshot-go")

	folder, _ := unpacked(t, filepath.Join(made, "earshot-client-7.8.9.tgz"))
	require.Equal(t, "7.8.9\n", run(t, folder, "node", "--input-type=module", "-e", `import { version } from '@earshot/client'; console.log(version)`))

	wheel := filepath.Join(made, "earshot_client-7.8.9-py3-none-any.whl")
	out := run(t, folder, python(t), "-c", "import sys; sys.path.insert(0, sys.argv[1]); import earshot, os; print(earshot.__version__, os.path.exists(sys.argv[1]))", wheel)
	require.Equal(t, "7.8.9 True\n", out)

	program := filepath.Join(folder, "program")
	require.NoError(t, os.MkdirAll(program, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(program, "main.go"), []byte("package main\n\nimport earshot \"example.org/you/earshot-go\"\n\nfunc main() { print(earshot.UserAgent) }\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(program, "go.mod"), []byte("module program\n\ngo 1.24\n\nrequire example.org/you/earshot-go v0.0.0\n\nreplace example.org/you/earshot-go => "+filepath.Join(made, "go")+"\n"), 0o600))
	require.Equal(t, "earshot-go/7.8.9", testbed.Done(t, prepared(program, "go", "run", ".")))

	for _, arguments := range [][]string{{"-version", "devel"}, {"-version", "1.2.3", "-modpath", "earshot"}} {
		cmd := exec.Command("go", append([]string{"run", "./deploy/release", "-clients", made}, arguments...)...)
		cmd.Dir = "../.."
		require.Error(t, cmd.Run(), "%v", arguments)
	}
}
