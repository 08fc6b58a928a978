package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const olderFile = "# mine\ntools:\n  book: # b\n    description: Book\n    url: https://example.org/${NAME:x}\ntoolsets:\n  desk: [book]\n"

const newerFile = "# yaml-language-server: $schema=earshot.schema.json\n# mine\nkind: tool\nname: book # b\ndescription: Book\nurl: https://example.org/${NAME:x}\n---\nkind: group\nname: desk\ntools: [book]\n"

func TestMigrateKeepsWhatTheFileWas(t *testing.T) {
	inFolder(t)
	write(t, "tools.yaml", olderFile)
	require.NoError(t, os.Chmod("tools.yaml", 0o640))
	r := command(t, nil, "migrate", "-f", "tools.yaml")
	require.Equal(t, commandResult{0, "tools.yaml is migrated; what it was is in tools.yaml.bak\n", ""}, r)
	require.Equal(t, newerFile, fileContent(t, "tools.yaml"))
	require.Equal(t, olderFile, fileContent(t, "tools.yaml.bak"))
	info, err := os.Stat("tools.yaml")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	require.Equal(t, "tools.yaml is of the newest form\n", command(t, nil, "migrate", "-f", ".").out)
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Len(t, left, 2)
}

func TestMigrateDryRunShowsTheDifference(t *testing.T) {
	inFolder(t)
	write(t, "tools.yaml", olderFile)
	r := command(t, nil, "migrate", "-f", "tools.yaml", "--dry-run")
	require.Equal(t, 0, r.code)
	require.True(t, strings.HasPrefix(r.out, "--- tools.yaml\n+++ tools.yaml\n@@ -1,7 +1,10 @@\n+# yaml-language-server: $schema=earshot.schema.json\n # mine\n-tools:\n"), r.out)
	require.Contains(t, r.out, "\n+kind: tool\n+name: book # b\n")
	require.Equal(t, olderFile, fileContent(t, "tools.yaml"))
	require.NoFileExists(t, "tools.yaml.bak")
}

func TestMigrateGoesOnOverFilesAtFaultAndLeavesThemUntouched(t *testing.T) {
	inFolder(t)
	const broken = "tools:\n  a: [1\n"
	write(t, "a.yaml", broken)
	write(t, "b.yaml", olderFile)
	write(t, "c.yaml", olderFile)
	write(t, "c.yaml.bak", "precious")
	r := command(t, nil, "migrate", "-f", ".")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "a.yaml:2:6: malformed YAML: ")
	require.Contains(t, r.err, "c.yaml: c.yaml.bak is there already; move it away first")
	require.Equal(t, broken, fileContent(t, "a.yaml"))
	require.Equal(t, newerFile, fileContent(t, "b.yaml"))
	require.Equal(t, olderFile, fileContent(t, "c.yaml"))
	require.Equal(t, "precious", fileContent(t, "c.yaml.bak"))
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Len(t, left, 5, "and nothing is left lying about")
}

func TestAMigratedFileAppliesToTheSameState(t *testing.T) {
	w := devInFolder(t)
	write(t, "tools.yaml", olderFile)
	w.ok("apply", "-f", "tools.yaml")
	w.ok("migrate", "-f", "tools.yaml")
	require.Equal(t, "= app clinic\n= repository clinic/desk\ncreated 0, updated 0, left 2, removed 0\n", w.ok("apply", "-f", "tools.yaml"))
}

func fileContent(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

func TestDifferenceIsAUnifiedDiffWithAllLines(t *testing.T) {
	for name, test := range map[string]struct{ before, after, want string }{
		"all lines":  {"a\nb\nc\n", "a\nc\nd\n", "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n c\n+d\n"},
		"no newline": {"a", "b", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"},
		"far apart": {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "0\n2\n3\n4\n5\n6\n7\n8\n0\n",
			"--- f\n+++ f\n@@ -1,9 +1,9 @@\n-1\n+0\n 2\n 3\n 4\n 5\n 6\n 7\n 8\n-9\n+0\n"},
	} {
		var out strings.Builder
		require.NoError(t, printDifference(&out, "f", test.before, test.after), name)
		require.Equal(t, test.want, out.String(), name)
	}
}

func TestValidateNamesEveryFaultAndNeedsNoService(t *testing.T) {
	inFolder(t)
	write(t, "a.yaml", "kind: tool\nname: x\ndescripton: y\n")
	write(t, "b.yaml", "kind: tol\n")
	r := command(t, nil, "validate", "-f", ".")
	require.Equal(t, commandResult{1, "a.yaml:3:1: tool \"x\": descripton: unknown field \"descripton\"; did you mean \"description\"?\n" +
		"b.yaml:1:7: unknown kind \"tol\": app, module, authService, source, tool, repository, toolset, group, test; did you mean \"tool\"?\n",
		"earshot: 2 faults in the files\n"}, r)
	write(t, "a.yaml", "kind: tool\nname: x\nauthRequired: [g]\n")
	require.Contains(t, command(t, nil, "validate", "-f", "a.yaml").out, "a.yaml:3:16: tool \"x\": authRequired/0: the app has no authentication service \"g\"")
	write(t, "a.yaml", "kind: tool\nname: x\n---\nkind: prompt\nname: p\n")
	require.Equal(t, commandResult{0, "1 file, app clinic, 1 repository: no faults\n", "note: a.yaml:5:7: prompt \"p\" is left out: Earshot has tools, and no prompts\n"},
		command(t, nil, "validate", "-f", "a.yaml"))
}

const bookFile = `kind: tool
name: book
description: Book an appointment
url: URL/book
request:
  auth: basic
  basic: {username: u, password: "${PASSWORD:one}"}
examples: [I want an appointment]
---
kind: repository
name: booking
tools: [book]
`

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
		got, err := json.Marshal(w.request("GET", "/v1/apps/clinic", "")["settings"].(map[string]any)["limits"])
		require.NoError(t, err)
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
	require.Equal(t, commandResult{1, "", "tools.yaml:7:21: tool \"b\": request/moduleId: the app has no module \"m\"; it has none at all\n"}, r)
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
		"another server": {[]string{"apply", "-f", "tools.yaml", "--server", newEndpoint404(t)}, "and not as Earshot does"},
		"exit code":      {[]string{"apply", "-f", "tools.yaml", "--exit-code"}, "earshot: --exit-code goes with --dry-run; add --dry-run\n"},
	} {
		r := w.run(test.args...)
		require.Equal(t, 1, r.code, name)
		require.Contains(t, r.err, test.want, name)
	}
	w.env["EARSHOT_ADMIN_KEY"] = "admin"
	w.ok("apply", "-f", "tools.yaml")
	w.env["EARSHOT_KEY"] = "wrong"
	require.Equal(t, 1, w.run("apply", "-f", "tools.yaml").code, "the one before the other")
	w.ok("apply", "-f", "tools.yaml", "--key", "admin")
}

func newEndpoint404(t *testing.T) string {
	e := newSink(t)
	e.answer(404)
	return e.URL
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
		require.Equal(t, commandResult{0, "1 file, app clinic, 1 repository: no faults\n", ""}, r, args)
	}
	require.Equal(t, "-:1:7: unknown kind \"tol\": app, module, authService, source, tool, repository, toolset, group, test; did you mean \"tool\"?\n",
		typing(t, nil, "kind: tol\n", "validate", "-").out)
	require.Equal(t, commandResult{0, newerFile, ""}, typing(t, nil, olderFile, "migrate", "-"))
	require.Contains(t, typing(t, nil, olderFile, "migrate", "-", "--dry-run").out, "\n+kind: tool\n")
	for _, name := range []string{"validate", "migrate", "apply"} {
		require.Equal(t, "earshot: no file is given: name files and folders, as in tools.yaml, or - for standard input, or give --prebuilt\n", command(t, nil, name).err)
	}
	w := atDev(t, nil)
	require.Equal(t, "+ app clinic\n+ repository clinic/desk\ncreated 2, updated 0, left 0, removed 0\n", typing(t, w.env, olderFile, "apply", "-").out)
}
