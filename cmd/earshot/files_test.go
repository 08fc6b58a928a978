package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/matcher/llm/llmtest"
)

const olderFile = "# mine\ntools:\n  book: # b\n    description: Book\n    url: https://example.org/${NAME:x}\ntoolsets:\n  desk: [book]\n"

const newerFile = "# yaml-language-server: $schema=earshot.schema.json\n# mine\nkind: tool\nname: book # b\ndescription: Book\nurl: https://example.org/${NAME:x}\n---\nkind: group\nname: desk\ntools: [book]\n"

func TestMigrateKeepsWhatTheFileWas(t *testing.T) {
	inFolder(t)
	write(t, "tools.yaml", olderFile)
	require.NoError(t, os.Chmod("tools.yaml", 0o640))
	r := command(t, nil, "migrate", "-f", "tools.yaml")
	require.Equal(t, commandResult{0, "tools.yaml is migrated; what it was is in tools.yaml.bak\n", ""}, r)
	require.Equal(t, newerFile, testbed.Read(t, "tools.yaml"))
	require.Equal(t, olderFile, testbed.Read(t, "tools.yaml.bak"))
	require.Equal(t, os.FileMode(0o640), testbed.Got(os.Stat("tools.yaml"))(t).Mode().Perm())
	require.Equal(t, "tools.yaml is of the newest form\n", command(t, nil, "migrate", "-f", ".").out)
	require.Len(t, testbed.Got(os.ReadDir("."))(t), 2)
}

func TestMigrateChangesTheFileOfALink(t *testing.T) {
	inFolder(t)
	require.NoError(t, os.Mkdir("real", 0o755))
	write(t, "real/tools.yaml", olderFile)
	require.NoError(t, os.Symlink("real/tools.yaml", "first.yaml"))
	require.NoError(t, os.Symlink("first.yaml", "link.yaml"))
	r := command(t, nil, "migrate", "link.yaml")
	require.Equal(t, commandResult{0, "link.yaml is migrated; what it was is in real/tools.yaml.bak\n", ""}, r)
	require.Equal(t, newerFile, testbed.Read(t, "real/tools.yaml"))
	require.Equal(t, olderFile, testbed.Read(t, "real/tools.yaml.bak"))
	for link, to := range map[string]string{"link.yaml": "first.yaml", "first.yaml": "real/tools.yaml"} {
		require.Equal(t, to, testbed.Got(os.Readlink(link))(t))
	}
	require.NoFileExists(t, "link.yaml.bak")

	write(t, "shop.yaml", "openapi: 3.1.0\ninfo: {title: Shop}\nservers: [{url: https://shop.example}]\npaths: {/pets: {get: {operationId: list, summary: List the pets}}}\n")
	require.Equal(t, 0, command(t, nil, "import", "openapi", "shop.yaml", "--output", "real/shop.yaml").code)
	require.NoError(t, os.Symlink("real/shop.yaml", "merged.yaml"))
	command(t, nil, "import", "openapi", "shop.yaml", "--output", "merged.yaml", "--merge").good(t)
	testbed.Got(os.Readlink("merged.yaml"))(t)
}

func TestMigrateDryRunShowsTheDifference(t *testing.T) {
	inFolder(t)
	write(t, "tools.yaml", olderFile)
	r := command(t, nil, "migrate", "-f", "tools.yaml", "--dry-run").good(t)
	require.True(t, strings.HasPrefix(r.out, "--- tools.yaml\n+++ tools.yaml\n@@ -1,7 +1,10 @@\n+# yaml-language-server: $schema=earshot.schema.json\n # mine\n-tools:\n"), r.out)
	require.Contains(t, r.out, "\n+kind: tool\n+name: book # b\n")
	require.Equal(t, olderFile, testbed.Read(t, "tools.yaml"))
	require.NoFileExists(t, "tools.yaml.bak")
}

func TestMigrateGoesOnOverFilesAtFaultAndLeavesThemUntouched(t *testing.T) {
	inFolder(t)
	const broken = "tools:\n  a: [1\n"
	write(t, "a.yaml", broken)
	write(t, "b.yaml", olderFile)
	other := strings.NewReplacer("book:", "ring:", "[book]", "[ring]", "desk", "door").Replace(olderFile)
	write(t, "c.yaml", other)
	write(t, "c.yaml.bak", "precious")
	r := failing(t, nil, "migrate", "-f", ".")
	require.Contains(t, r.err, "a.yaml:2:6: malformed YAML: ")
	require.Contains(t, r.err, "c.yaml: c.yaml.bak is there already; move it away first")
	require.Equal(t, broken, testbed.Read(t, "a.yaml"))
	require.Equal(t, newerFile, testbed.Read(t, "b.yaml"))
	require.Equal(t, other, testbed.Read(t, "c.yaml"))
	require.Equal(t, "precious", testbed.Read(t, "c.yaml.bak"))
	require.Len(t, testbed.Got(os.ReadDir("."))(t), 5, "and nothing is left lying about")
}

// TestMigrateLeavesWhatValidateRefuses has faults of the content, which the conversion of the form does not see.
func TestMigrateLeavesWhatValidateRefuses(t *testing.T) {
	inFolder(t)
	for content, want := range map[string]string{
		"tools: {x: {kind: nope}}\n":                                                  `t.yaml:1:19: tool "x": type: "nope" is not a supported type of tool`,
		"tools:\n  x:\n    url: nowhere\n":                                            `t.yaml:3:10: tool "x": url`,
		"kind: tool\ndescription: d\n---\ntools: {x: {url: https://a.example}}\n":     "t.yaml:1:1: tool: name: is missing",
		"tools: {x: {url: https://a.example}}\ntoolsets: {g: [y]}\n":                  `"y"`,
		"tools:\n  x:\n    kind: http\n    source: s\n    method: GET\n    path: /\n": `the app has no source "s"`,
	} {
		write(t, "t.yaml", content)
		require.Contains(t, failing(t, nil, "validate", "t.yaml").out, want, content)
		for _, args := range [][]string{{"migrate", "t.yaml"}, {"migrate", "t.yaml", "--dry-run"}} {
			r := failing(t, nil, args...)
			require.Contains(t, r.err, want, content)
			require.Empty(t, r.out, content)
		}
		require.Equal(t, content, testbed.Read(t, "t.yaml"))
		require.NoFileExists(t, "t.yaml.bak")
		r := typing(t, nil, content, "migrate", "-")
		require.Equal(t, 1, r.code, content)
		require.Empty(t, r.out, content)
	}
	write(t, "t.yaml", "tools:\n  x:\n    kind: nope\n    port: ${PORT}\n")
	require.Contains(t, failing(t, nil, "migrate", "t.yaml").err, "nope")
	require.Equal(t, "t.yaml is migrated; what it was is in t.yaml.bak\n", command(t, nil, "migrate", "t.yaml", "--skip-unsupported").out)
}

// TestMigrateReadsAllFilesTogetherAndNeedsNoVariables has a source in another file, and a port that is not set.
func TestMigrateReadsAllFilesTogetherAndNeedsNoVariables(t *testing.T) {
	inFolder(t)
	write(t, "sources.yaml", "sources:\n  s:\n    kind: postgres\n    host: ${HOST}\n    port: ${PORT}\n    database: d\n    user: u\n")
	write(t, "tools.yaml", "tools:\n  x:\n    kind: postgres-sql\n    source: s\n    description: d\n    statement: SELECT 1\n")
	r := command(t, nil, "migrate", ".")
	require.Equal(t, commandResult{0, "sources.yaml is migrated; what it was is in sources.yaml.bak\ntools.yaml is migrated; what it was is in tools.yaml.bak\n", ""}, r)
	require.Contains(t, testbed.Read(t, "sources.yaml"), "port: ${PORT}\n")
}

func TestAMigratedFileAppliesToTheSameState(t *testing.T) {
	w := devInFolder(t)
	write(t, "tools.yaml", olderFile)
	w.ok("apply", "-f", "tools.yaml")
	w.ok("migrate", "-f", "tools.yaml")
	require.Equal(t, "= app clinic\n= repository clinic/desk\ncreated 0, updated 0, left 2, removed 0\n", w.ok("apply", "-f", "tools.yaml"))
}

func TestValidateNamesEveryFaultAndNeedsNoService(t *testing.T) {
	inFolder(t)
	write(t, "a.yaml", "kind: tool\nname: x\ndescripton: y\n")
	write(t, "b.yaml", "kind: tol\n")
	r := command(t, nil, "validate", "-f", ".")
	require.Equal(t, commandResult{1, "a.yaml:3:1: tool \"x\": descripton: unknown field \"descripton\"; did you mean \"description\"?\n" +
		"b.yaml:1:7: unknown kind \"tol\": app, module, authService, source, tool, repository, toolset, group, test; did you mean \"tool\"?\n",
		"earshot: 2 errors in the files\n"}, r)
	write(t, "a.yaml", "kind: tool\nname: x\nauthRequired: [g]\n")
	require.Contains(t, command(t, nil, "validate", "-f", "a.yaml").out, "a.yaml:3:16: tool \"x\": authRequired/0: the app has no authentication service \"g\"")
	write(t, "a.yaml", "kind: tool\nname: x\n---\nkind: prompt\nname: p\n")
	require.Equal(t, commandResult{0, "1 file, app clinic, 1 repository: no errors\n", "note: a.yaml:5:7: prompt \"p\" is left out: Earshot has tools, and no prompts\n"},
		command(t, nil, "validate", "-f", "a.yaml"))
	for _, name := range []string{"validate", "apply"} {
		require.Equal(t, commandResult{1, "", "earshot: --app \"a b\" is not an id: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit\n"}, command(t, nil, name, "-f", "a.yaml", "--app", "a b"))
	}
}

func TestNoFileWritesToTheTerminalWhatItSays(t *testing.T) {
	inFolder(t)
	write(t, "field.yaml", "kind: tool\nname: x\ndescription: d\n\"a\\e]0;b\\u009b\\u202ec\": 1\n")
	write(t, "test.yaml", "kind: tool\nname: x\ndescription: d\n---\nkind: test\nname: \"a\\e]0;b\\u009b\\u202ec\"\nchat: [{user: hello}, {expect: {tool: x}}]\n")
	write(t, "api.json", `{"openapi":"3.0.0","info":{"title":"t","version":"1"},"servers":[{"url":"https://a.example"}],"paths":{
		"/a":{"get":{"operationId":"a","responses":{}}},"/a\u001b]0;b\u009b\u202ec":{"get":{"operationId":"b","responses":{}}}}}`)
	for _, args := range [][]string{{"validate", "field.yaml"}, {"apply", "--dry-run", "-f", "field.yaml"}, {"eval", "-f", "test.yaml"}, {"import", "openapi", "api.json"}} {
		r := command(t, nil, args...)
		require.Contains(t, r.out+r.err, "a�]0;b��c", args)
		require.NotRegexp(t, "[\x1b\u009b\u202e]", r.out+r.err, args)
	}
}

func TestApplyPlansAndASecondRunChangesNothing(t *testing.T) {
	w := devInFolder(t)
	write(t, "tools.yaml", strings.ReplaceAll(bookFile, "URL", "https://example.org"))

	dry := w.run("apply", "-f", "tools.yaml", "--dry-run", "--exit-code")
	require.Equal(t, commandResult{2, "+ app clinic\n+ repository clinic/booking\nnothing was done (--dry-run): would have created 2, updated 0, left 0, removed 0\n", ""}, dry)
	require.Empty(t, w.request("GET", "/v1/apps", "")["items"])

	require.Equal(t, "+ app clinic\n+ repository clinic/booking\ncreated 2, updated 0, left 0, removed 0\n", w.ok("apply", "-f", "tools.yaml"))
	first := w.request("GET", "/v1/apps/clinic/repositories/booking", "")
	require.Equal(t, "= app clinic\n= repository clinic/booking\ncreated 0, updated 0, left 2, removed 0\n", w.ok("apply", "-f", "tools.yaml"))
	require.Equal(t, first, w.request("GET", "/v1/apps/clinic/repositories/booking", ""), "not even the time of the last change")
	require.Equal(t, 0, w.run("apply", "-f", "tools.yaml", "--dry-run", "--exit-code").code)
}

func TestApplyShowsInWhichFieldsADefinitionChanges(t *testing.T) {
	w := devInFolder(t)
	write(t, "tools.yaml", "kind: tool\nname: a\ndescription: one\nschema:\n- {parameter: x, type: string}\n- {parameter: y, type: string}\n---\nkind: tool\nname: b\n")
	w.ok("apply", "-f", "tools.yaml")
	write(t, "tools.yaml", "kind: tool\nname: c\n---\nkind: tool\nname: a\ndescription: two\nemitter: a.b\nschema:\n- {parameter: y, type: string}\n- {parameter: x, type: integer}\n")
	require.Equal(t, "= app clinic\n~ repository clinic/default\n"+
		"    tools/b is gone\n    tools/c is new\n    tools/a/description: \"one\" → \"two\"\n    tools/a/emitter: \"a.b\" is new\n"+
		"    tools/a/schema/x/type: \"string\" → \"integer\"\ncreated 0, updated 1, left 1, removed 0\n", w.ok("apply", "-f", "tools.yaml"))
}

func TestApplyTakesOverACredentialAndShowsNone(t *testing.T) {
	w, e := devInFolder(t), newSink(t)
	write(t, "tools.yaml", strings.ReplaceAll(bookFile, "URL", e.URL))
	w.env["PASSWORD"] = "hunter1"
	w.ok("apply", "-f", "tools.yaml")
	w.ok("chat", "I want an appointment")
	require.Equal(t, "hunter1", e.lastPassword())

	w.env["PASSWORD"] = "hunter2"
	printed := w.ok("apply", "-f", "tools.yaml")
	require.Equal(t, "= app clinic\n~ repository clinic/booking\n    a credential is another\ncreated 0, updated 1, left 1, removed 0\n", printed)
	w.ok("chat", "I want an appointment")
	require.Equal(t, "hunter2", e.lastPassword())
	require.Contains(t, w.ok("apply", "-f", "tools.yaml"), "left 2")

	w.env["PASSWORD"] = "***"
	require.Contains(t, w.ok("apply", "-f", "tools.yaml"), "left 2", "the mask keeps what is stored")
}

func TestApplyLeavesWhatTheFilesDoNotMentionUnlessItPrunes(t *testing.T) {
	w := devInFolder(t)
	w.request("PUT", "/v1/apps/clinic", `{"name":"My clinic","signingSecret":"whsec_eHg=","settings":{"chatModeEnabled":true},
	  "modules":[{"moduleId":"old","secret":"s","tokenUrl":"https://id.example.org/"}]}`)
	w.request("PUT", "/v1/apps/clinic/repositories/old", `{"tools":[{"name":"t","url":"https://x.example/","request":{"moduleId":"old"}}]}`)
	write(t, "app.yaml", "kind: app\nname: clinic\n---\nkind: module\nname: new\nsecret: s\ntokenUrl: https://id.example.org/\n---\nkind: tool\nname: a\n")

	require.Equal(t, "~ app clinic\n    modules/new is new\n+ repository clinic/default\n  repository clinic/old is not in the files and stays (--prune removes it)\n"+
		"created 1, updated 1, left 1, removed 0\n", w.ok("apply", "-f", "."))
	app := w.request("GET", "/v1/apps/clinic", "")
	require.Len(t, app["modules"], 2)
	require.Equal(t, "***", app["signingSecret"])
	require.Equal(t, "My clinic", app["name"])
	require.Equal(t, 0, w.run("apply", "-f", ".", "--dry-run", "--exit-code").code)

	require.Equal(t, 2, w.run("apply", "-f", ".", "--prune", "--dry-run", "--exit-code").code)
	require.Equal(t, "~ app clinic\n    modules/old is gone\n= repository clinic/default\n- repository clinic/old\ncreated 0, updated 1, left 1, removed 1\n", w.ok("apply", "-f", ".", "--prune"))
	require.Len(t, w.request("GET", "/v1/apps/clinic/repositories", "")["items"], 1)
	require.Contains(t, w.ok("apply", "-f", ".", "--prune"), "created 0, updated 0, left 2, removed 0")
}

func TestApplyTakesLimitsOff(t *testing.T) {
	w := devInFolder(t)
	limits := func() string {
		got := testbed.Got(json.Marshal(w.request("GET", "/v1/apps/clinic", "")["settings"].(map[string]any)["limits"]))(t)
		return string(got)
	}
	const app = "kind: app\nname: clinic\nsettings:\n  limits:"
	for text, want := range map[string]string{
		" null": "null", "\n    messagesPerMinute: null\n    bytesPerMinute: 7": `{"bytesPerMinute":7,"messagesPerMinute":null}`,
	} {
		write(t, "app.yaml", app+text+"\n")
		w.ok("apply", "-f", "app.yaml")
		require.Equal(t, want, limits())
		require.Contains(t, w.ok("apply", "-f", "app.yaml"), "created 0, updated 0")
		write(t, "app.yaml", "kind: tool\nname: a\n")
		w.ok("apply", "-f", "app.yaml", "--app", "clinic")
		require.Equal(t, want, limits(), "files of tools alone leave them")
	}
}

func TestApplyWritesNothingWhereAnythingIsAtFault(t *testing.T) {
	w := devInFolder(t)
	write(t, "tools.yaml", "kind: tool\nname: a\n---\nkind: tool\nname: b\nurl: https://a/\nrequest: {moduleId: m}\n")
	r := w.run("apply", "-f", "tools.yaml")
	require.Equal(t, commandResult{1, "", "tools.yaml:7:21: tool \"b\": request/moduleId: the app has no module \"m\"; it has none: add one to the modules of the app\n"}, r)
	require.Empty(t, w.request("GET", "/v1/apps", "")["items"])

	w.request("PUT", "/v1/apps/clinic", `{"modules":[{"moduleId":"m","secret":"s","tokenUrl":"https://id.example.org/"}]}`)
	require.Contains(t, w.ok("apply", "-f", "tools.yaml"), "+ repository clinic/default", "the module is in the service")
}

func TestApplySaysWhatIsInItsWay(t *testing.T) {
	inFolder(t)
	w := atDev(t, map[string]string{"EARSHOT_ADMIN_KEY": "admin"})
	write(t, "tools.yaml", "kind: tool\nname: a\n")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no file":        {[]string{"apply"}, "earshot: no file is given: name files and folders, as in tools.yaml, or - for standard input, or give --prebuilt\n"},
		"no key":         {[]string{"apply", "-f", "tools.yaml"}, "earshot: the service answers 401 Unauthorized: a key is needed: send it as the header Authorization: Bearer KEY (a key is given with --key or EARSHOT_KEY)\n"},
		"nobody there":   {[]string{"apply", "-f", "tools.yaml", "--server", "http://127.0.0.1:1"}, "earshot: no Earshot answers at http://127.0.0.1:1: "},
		"no URL":         {[]string{"apply", "-f", "tools.yaml", "--server", "here"}, "earshot: --server (EARSHOT_URL) is \"here\"; it must be a URL"},
		"another server": {[]string{"apply", "-f", "tools.yaml", "--server", refusing(t, http.StatusNotFound).URL}, "and is not an Earshot service"},
		"exit code":      {[]string{"apply", "-f", "tools.yaml", "--exit-code"}, "earshot: --exit-code needs --dry-run\n"},
	} {
		require.Contains(t, failing(t, w.env, test.args...).err, test.want, name)
	}
	w.env["EARSHOT_ADMIN_KEY"] = "admin"
	w.ok("apply", "-f", "tools.yaml")
	w.env["EARSHOT_KEY"] = "wrong"
	require.Equal(t, 1, w.run("apply", "-f", "tools.yaml").code, "the one before the other")
	w.ok("apply", "-f", "tools.yaml", "--key", "admin")
}

func TestTheToolOfASermasFolderFires(t *testing.T) {
	w := devInFolder(t)
	write(t, "app.yaml", "name: My clinic\npublic: true\n")
	write(t, "tools.yaml", " - name: request-for-appointment\n   description: User need an appointment\n   returnDirect: true\n   skipResponse: true\n")
	w.ok("apply", "-f", ".")
	require.Contains(t, w.ok("chat", "I want an appointment"), "fired default/request-for-appointment {}\n    event tool.trigger.clinic.chat-")
}

func TestFilesMayBeArgumentsOrStandardInput(t *testing.T) {
	inFolder(t)
	write(t, "tools.yaml", olderFile)
	for _, args := range [][]string{{"tools.yaml"}, {"-f", "tools.yaml"}, {"-"}, {"-f", "-"}} {
		r := typing(t, nil, olderFile, append([]string{"validate"}, args...)...)
		require.Equal(t, commandResult{0, "1 file, app clinic, 1 repository: no errors\n", ""}, r, args)
	}
	require.Equal(t, "-:1:7: unknown kind \"tol\": app, module, authService, source, tool, repository, toolset, group, test; did you mean \"tool\"?\n",
		typing(t, nil, "kind: tol\n", "validate", "-").out)
	require.Equal(t, commandResult{0, newerFile, ""}, typing(t, nil, olderFile, "migrate", "-"))
	require.Contains(t, typing(t, nil, olderFile, "migrate", "-", "--dry-run").out, "\n+kind: tool\n")
	for name, hint := range map[string]string{"validate": ", or give --prebuilt", "migrate": "", "apply": ", or give --prebuilt"} {
		require.Equal(t, "earshot: no file is given: name files and folders, as in tools.yaml, or - for standard input"+hint+"\n", command(t, nil, name).err)
	}
	w := atDev(t, nil)
	require.Equal(t, "+ app clinic\n+ repository clinic/desk\ncreated 2, updated 0, left 0, removed 0\n", typing(t, w.env, olderFile, "apply", "-").out)
}

func TestToolsOfAnOpenAPIDocumentReachTheAPIAsItSays(t *testing.T) {
	sink := newSink(t)
	w := devInFolder(t)
	write(t, "shop.yaml", strings.ReplaceAll(shop, "ENDPOINT", sink.URL))
	w.env["SHOP_KEY"], w.env["SHOP_USERNAME"], w.env["SHOP_PASSWORD"] = "the-key", "ann", "secret"

	r := w.run("import", "openapi", "shop.yaml", "-o", "made.yaml").good(t)
	require.Contains(t, r.err, "4 tools of 4 operations written to made.yaml\nto be set where it is read: SHOP_KEY, SHOP_PASSWORD, SHOP_USERNAME")
	text := testbed.Read(t, "made.yaml")
	require.NotContains(t, text, "the-key")
	require.Contains(t, w.run("import", "openapi", "shop.yaml", "-o", "made.yaml").err, "made.yaml is there already")
	require.Equal(t, text, w.ok("import", "openapi", "shop.yaml"), "to standard output")
	w.ok("import", "openapi", "shop.yaml", "-o", "made.yaml", "--force")
	write(t, "ours.yaml", "overlay: 1.0.0\nactions: [{target: '$.paths[\"/ping\"].get', update: {operationId: knock}}, {target: $.tags, remove: true}]\n")
	r = w.run("import", "openapi", "shop.yaml", "--overlay", "ours.yaml")
	require.Contains(t, r.out, "name: knock\n")
	require.Contains(t, r.err, `note: ours.yaml:2:84: actions[1]: the target "$.tags" matches nothing in the document`)

	w.ok("validate", "made.yaml")
	w.ok("apply", "made.yaml", "--app", "clinic")
	fire := func(name, values string) received {
		match := w.fire("s1", name, values)
		require.Equal(t, "delivered", match.Call.State, match.Call.Error)
		sink.mu.Lock()
		defer sink.mu.Unlock()
		return sink.got[len(sink.got)-1]
	}

	got := fire("listOrders", `{"customer-id":"a/b c","state":["open","paid"],"limit":7,"X-Request":"r1"}`)
	at := testbed.Got(url.Parse(got.URI))(t)
	require.Equal(t, "GET /v1/customers/a%2Fb%20c/orders", got.Method+" "+at.EscapedPath())
	require.Equal(t, url.Values{"state": {"open", "paid"}, "limit": {"7"}}, at.Query())
	require.Equal(t, "the-key", got.Header.Get("X-Api-Key"))
	require.Empty(t, got.Header.Get("Authorization"))
	require.Equal(t, "r1", got.Header.Get("X-Request"))
	require.Empty(t, got.Body)
	got = fire("listOrders", `{"customer-id":"1"}`)
	require.Equal(t, "/v1/customers/1/orders", got.URI, "what has no value is left out")

	got = fire("createOrder", `{"customer-id":"1","lines":[{"sku":"x","count":12345678901234567890}],"gift":false,"address":{"street":"\"}"}}`)
	require.Equal(t, "POST /v1/customers/1/orders", got.Method+" "+got.URI)
	require.Equal(t, `{"address":{"street":"\"}"},"gift":false,"lines":[{"count":12345678901234567890,"sku":"x"}]}`, got.Body)
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	name, password, _ := (&http.Request{Header: got.Header}).BasicAuth()
	require.Equal(t, "ann secret", name+" "+password)
	require.Empty(t, got.Header.Get("X-Api-Key"), "the key is of other operations")

	got = fire("ping", `{}`)
	require.Equal(t, "/v1/ping", got.URI)
	require.Empty(t, got.Header.Get("X-Api-Key")+got.Header.Get("Authorization"), "it asks for nobody's credentials")

	got = fire("addNote", `{"text":"a&b=c","pinned":false}`)
	require.Equal(t, "application/x-www-form-urlencoded", got.Header.Get("Content-Type"))
	form := testbed.Got(url.ParseQuery(got.Body))(t)
	require.Equal(t, url.Values{"text": {"a&b=c"}, "pinned": {"false"}}, form)

	refused := w.call(422, "POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"listOrders","source":"ui","values":{"customer-id":"1","limit":51,"state":["lost"]}}`)
	require.Len(t, read[struct{ Errors []any }](t, refused.Body).Errors, 2)
}

func TestOpenAPIDocumentWithFaultsIsNotImported(t *testing.T) {
	inFolder(t)
	write(t, "wrong.yaml", "openapi: 3.1.0\npaths:\n  /a: {$ref: 'other.yaml#/a'}\n  /b: {$ref: '#/paths/c'}\n")
	r := failing(t, nil, "import", "openapi", "wrong.yaml", "-o", "made.yaml")
	require.Contains(t, r.err, `wrong.yaml:3:14: refers to another document, "other.yaml#/a"`)
	require.Contains(t, r.err, `wrong.yaml:4:14: refers to "#/paths/c"`)
	require.NoFileExists(t, "made.yaml")
	require.NotZero(t, command(t, nil, "import", "swagger", "wrong.yaml").code)
}

const notedInFiles = `note: clinic.yaml:9:3: tool "book": examples/1: "I want an appointment" does not fire it without a model: it needs a value for day: say and mark one, as in [Monday](day), or give the parameter an ask, so that the user is asked for it
note: clinic.yaml:10:3: tool "book": examples/2: "I cannot make it" does not fire it without a model: "cancel" has the same example; leave it with one of them
note: clinic.yaml:11:3: tool "book": examples/3: "book me 5 minutes on Tuesday" does not fire it without a model: minutes: 5 is under the minimum of 10
note: clinic.yaml:17:37: tool "cancel": examples/1: "i cannot make it" does not fire it without a model: "book" has the same example; leave it with one of them
`

func TestValidateNotesExamplesThatDoNotFireTheirTool(t *testing.T) {
	inFolder(t)
	write(t, "clinic.yaml", faultyExamples)
	r := command(t, nil, "validate", "clinic.yaml")
	require.Equal(t, commandResult{0, "1 file, app clinic, 1 repository: no errors\n", notedInFiles}, r)
}

func TestApplyNotesExamplesBesideWhatStays(t *testing.T) {
	w := devInFolder(t)
	write(t, "clinic.yaml", faultyExamples)
	w.put("/v1/apps/clinic", "{}")
	w.put("/v1/apps/clinic/repositories/other", `{"tools":[{"name":"move-appointment","description":"Move my appointment","examples":["Move my appointment"]}]}`)
	w.put("/v1/apps/clinic/repositories/blank", `{"options":{"template":true},"tools":[{"name":"call-off","description":"Call off my appointment","examples":["call off my appointment"]}]}`)
	const same = `examples/0%s "move my appointment" fires "move-appointment" of repository "other" and not it without a model: both have this example; leave it with one of them`
	dry := w.run("apply", "clinic.yaml", "--dry-run").good(t)
	require.Equal(t, notedInFiles+fmt.Sprintf("note: clinic.yaml:22:12: tool \"move\": "+same+"\n", ":"), dry.err)
	require.Contains(t, w.ok("apply", "clinic.yaml"), fmt.Sprintf("note: repository default: tool \"move\": "+same+"\n", ""))
	require.NotContains(t, w.run("apply", "clinic.yaml", "--dry-run", "--prune").err, "move my appointment")
}

func (w *world) noting(path, body string) []string {
	got := w.ask(w.replicas[0], "PUT", path, body)
	require.NoError(w.t, got.Err)
	require.Less(w.t, got.Status, 300, "%s", got.Body)
	return read[struct{ Notes []string }](w.t, got.Body).Notes
}

func TestAWriteNotesExamplesThatDoNotFireTheirTool(t *testing.T) {
	t.Parallel()
	w := atDev(t, nil)
	w.put("/v1/apps/clinic", "{}")
	const app, session = "/v1/apps/clinic/repositories/", "/v1/apps/clinic/sessions/s/repositories/"
	require.Empty(t, w.noting(app+"r", `{"tools":[{"name":"book","description":"Book an appointment","examples":["book me for [Monday](day)","I want an appointment"],
		"schema":[{"parameter":"day","type":"string","required":true,"ask":"Which day?"}]}]}`), "the user is asked for what an example lacks")
	require.Equal(t, []string{
		`tool "down": examples/0 "sit down on Monday" fires "sit" and not it without a model: both have this example; leave it with one of them`,
		`tool "book" of repository "r": examples/0 "book me for Monday" fires "down" of repository "s" and not it without a model: both have this example; leave it with one of them`,
	}, w.noting(app+"s", `{"tools":[
		{"name":"sit","description":"Sit","examples":["let me sit","sit down on Monday"],"schema":[{"parameter":"chairs","type":"integer","required":true,"ask":"How many chairs?"}]},
		{"name":"down","description":"Down","examples":["sit down on Monday","book me for Monday"]}]}`))
	require.Equal(t, []string{
		`tool "lie": examples/0 "let me sit" fires "sit" of the app's repository "s" and not it without a model: both have this example; leave it with one of them`,
	}, w.noting(session+"mine", `{"tools":[{"name":"lie","description":"Lie down","examples":["let me sit","lie down"]}]}`))
	require.Empty(t, w.noting(app+"t", `{"options":{"template":true},"tools":[{"name":"lay","description":"Lay","examples":["let me sit"]}]}`), "a template is in no scope")
	w.put("/v1/apps/clinic", `{"authServices":[{"name":"google","type":"oidc","issuer":"https://login.example","audience":"clinic"}]}`)
	require.Empty(t, w.noting(app+"v", `{"tools":[{"name":"mine","description":"Show what is mine","authRequired":["google"],"examples":["show what is mine"],
		"schema":[{"parameter":"user","type":"string","required":true,"authServices":[{"name":"google","field":"sub"}]}]}]}`), "a token has the user")
	require.Empty(t, w.noting(app+"u", `{"tools":[{"name":"collect-user-message","examples":["let me sit"]}]}`), "it takes what nothing else does")
	require.Equal(t, []string{`tool "dine": examples/0 "dinner at banana" fires it without time: "banana" is marked as that, and gives no value; mark words that do`},
		w.noting(app+"w", `{"tools":[{"name":"dine","description":"Dinner","examples":["dinner at [banana](time)","dinner at [noon](time)"],
		"schema":[{"parameter":"time","type":"string","format":"time"}]}]}`), "only the matcher reads times")
}

// TestAWriteDoesNotWaitForManyExamples has more examples than can be checked in time.
func TestAWriteDoesNotWaitForManyExamples(t *testing.T) {
	t.Parallel()
	w := atDev(t, nil)
	w.put("/v1/apps/clinic", "{}")
	many := func(tools int, of, examples string) string {
		list := make([]string, tools)
		for i := range list {
			list[i] = fmt.Sprintf(`{"name":"%s%d","examples":[%s]}`, of, i, strings.ReplaceAll(examples, "N", fmt.Sprint(of, i)))
		}
		return `{"tools":[` + strings.Join(list, ",") + `]}`
	}
	notes := w.noting("/v1/apps/clinic/repositories/r", many(201, "red", `"open N","shut N","paint N","clean N","sell N"`))
	require.Regexp(t, `^\d+ examples were not tried, as that takes long: earshot eval --examples tries all of them$`, notes[len(notes)-1])
	notes = w.noting("/v1/apps/clinic/repositories/s", many(1800, "blue", ``))
	require.Equal(t, []string{"examples are not tried among 2001 tools, as that takes long: earshot eval --examples does"}, notes)
}

func TestAWriteNotesNoExamplesWhereAModelDecides(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	w := atDev(t, map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": model.URL()})
	w.put("/v1/apps/clinic", "{}")
	require.Empty(t, w.noting("/v1/apps/clinic/repositories/r", `{"tools":[{"name":"a","examples":["go"]},{"name":"b","examples":["go"]}]}`))
	require.Zero(t, model.Count(), "nobody is asked")
}

func TestEvalTriesTheExamplesOfTools(t *testing.T) {
	w := devInFolder(t)
	write(t, "clinic.yaml", faultyExamples+`---
kind: authService
name: google
type: oidc
issuer: https://login.example
audience: clinic
---
kind: tool
name: mine
description: Show what is mine
authRequired: [google]
examples: [show what is mine]
`)
	r := failing(t, nil, "eval", "--examples", "clinic.yaml", "--junit", "report.xml")
	require.Contains(t, r.err, "note: 1 example of tools that ask for a verified user are not tried\n")
	require.Contains(t, r.err, "earshot: 4 of 7 tests failed\n")
	require.Equal(t, `FAIL book: I want an appointment clinic.yaml:9
  line 9: "I want an appointment"
    expected book
    came     book without day (silent)
    why      Nothing fired: default/book was called for, and its values are not valid.
`, r.out[:strings.Index(r.out, "FAIL book: I cannot")])
	require.Contains(t, r.out, "3 of 7 tests passed; of 7 messages with an expectation 3 came out right, 0 had a wrong effect, 4 had none\n")
	require.Contains(t, testbed.Read(t, "report.xml"), `<testcase name="book: book me for Monday" classname="clinic.yaml"></testcase>`)

	write(t, "clinic.yaml", strings.Replace(strings.Replace(faultyExamples, "- I want an appointment\n- I cannot make it\n- book me 5 minutes on Tuesday\n", "", 1), "call off my appointment", "call off", 1))
	r = command(t, nil, "eval", "--examples", "clinic.yaml").good(t)
	require.Contains(t, r.out, "4 of 4 tests passed;")
	w.ok("apply", "clinic.yaml")
	require.Equal(t, r.out, w.run("eval", "--examples", "--server", w.env["EARSHOT_URL"]).good(t).out)

	w.put("/v1/apps/clinic/repositories/other", `{"tools":[{"name":"move-appointment","description":"Move my appointment","examples":["Move my appointment"]}]}`)
	there := failing(t, w.env, "eval", "--examples", "--server", w.env["EARSHOT_URL"])
	require.Contains(t, there.out, "FAIL move: move my appointment\n  \"move my appointment\"\n    expected move\n    came     move-appointment (wrong)\n")
	require.Equal(t, 1, command(t, nil, "eval", "--examples").code, "no files and no service")
	write(t, "none.yaml", "kind: tool\nname: book\ndescription: Book\n")
	require.Contains(t, command(t, nil, "eval", "--examples", "none.yaml").err, "no tool has an example to test")
}
