package files_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/files"
)

func TestASermasFolderIsAnApp(t *testing.T) {
	folder(t, map[string]string{
		"app.yaml":      "name: My clinic\ndescription: d\npublic: true\nappId: clinic-1\n",
		"tools.yaml":    " - name: request-for-appointment\n   description: User need an appointment\n   returnDirect: true\n   skipResponse: true\n   url: https://example.org/book\n   request: {moduleId: calendar}\n",
		"modules.yaml":  "- moduleId: calendar\n  secret: ${CALENDAR}\n  tokenUrl: https://id.example.org/token\n  supports: [dialogue, ui]\n  config: {a: 1}\n- moduleId: avatar\n  secret: x\n  supports: [ui]\n- moduleId: bare\n  supports: [ui]\n",
		"settings.json": `{"chatModeEnabled": true, "avatar": "one", "llm": {"chat": "openai/gpt-4o", "tools": "openai/gpt-4o-mini"}, "prompt": {"text": "Be kind."}}`,
		"tasks.yaml":    "- taskId: t\n", "users.yaml": "- {}\n",
	})
	set, err := files.Read([]string{"."}, files.Options{Lookup: variables("CALENDAR=secret")})
	require.NoError(t, err)
	require.NoError(t, set.Check())
	require.Equal(t, "clinic-1", set.AppID)
	require.Equal(t, map[string]string{
		"app": `{"name":"My clinic","modules":[{"moduleId":"calendar","secret":"secret","tokenUrl":"https://id.example.org/token"},{"moduleId":"avatar","secret":"x"}],` +
			`"settings":{"chatModeEnabled":true,"llm":{"tools":"openai/gpt-4o-mini"},"prompt":{"text":"Be kind."}}}`,
		"default": `{"tools":[{"name":"request-for-appointment","description":"User need an appointment","returnDirect":true,"skipResponse":true,` +
			`"url":"https://example.org/book","request":{"moduleId":"calendar"}}]}`,
	}, bodies(set))
	require.Equal(t, []string{
		`tasks.yaml: is left out: Earshot has no tasks: what asks for values one after the other is a tool with required parameters`,
		`users.yaml: is left out: Earshot keeps no users: those of an identity provider are verified (authServices)`,
		`modules.yaml:2:11: module "calendar": secret: is too short to sign in with: at least 16 characters`,
		`modules.yaml:7:11: module "avatar": secret: is too short to sign in with: at least 16 characters`,
		`modules.yaml:9:13: module "bare" is left out: no tool calls with it, and it has no secret`,
		`settings.json:1:27: the setting "avatar" is left out: Earshot has no use for it`,
		`settings.json:1:52: the model for "chat" is left out: Earshot has no use for it`,
	}, lines(set.Notes))
}

func TestASermasAppWithoutAnIDHasTheNameOfItsFolder(t *testing.T) {
	folder(t, map[string]string{"app.json": `{"name":"My clinic","tools":[{"name":"ring"}],"modules":[]}`})
	set, err := files.Read([]string{"."}, files.Options{Lookup: variables()})
	require.NoError(t, err)
	require.Equal(t, "clinic", set.AppID)
	require.Equal(t, map[string]string{"app": `{"name":"My clinic"}`, "default": `{"tools":[{"name":"ring"}]}`}, bodies(set))
}

func TestFaultsOfASermasFolder(t *testing.T) {
	folder(t, map[string]string{
		"app.yaml":      "nmae: x\nappId: [1]\n",
		"tools.yaml":    "- name: a\n  descripton: d\n- description: no name\n- 5\n- kind: tool\n  name: b\n",
		"modules.yaml":  "- moduleId: a b\n  secret: s\n  tokenUrl: x\n- secret: s\n",
		"settings.yaml": "chatModeEnable: true\n",
	})
	_, err := files.Read([]string{"."}, files.Options{Lookup: variables()})
	require.Equal(t, []string{
		`app.yaml:1:1: app: nmae: unknown field "nmae"; did you mean "name"?`,
		`app.yaml:2:8: appId is a list; it must be a text`,
		`modules.yaml:1:13: module "a b": moduleId: the id "a b" is not an id: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit`,
		`modules.yaml:3:13: module "a b": tokenUrl: "x" is not an absolute URL, as https://example.org/path`,
		`modules.yaml:4:3: module: moduleId: is missing`,
		`settings.yaml:1:1: app: settings/chatModeEnable: unknown field "chatModeEnable"; did you mean "chatModeEnabled"?`,
		`tools.yaml:2:3: tool "a": descripton: unknown field "descripton"; did you mean "description"?`,
		`tools.yaml:3:3: tool: name: is missing`,
		`tools.yaml:4:3: is a number; a list holds tools or modules, each a map`,
		`tools.yaml:5:3: a document with a kind stands by itself, with --- before it, and in no list`,
	}, faults(t, err))
}

func TestAModuleThatAToolCallsWithMustBeComplete(t *testing.T) {
	folder(t, map[string]string{
		"modules.yaml": "- {moduleId: calendar, secret: s, supports: []}\n",
		"tools.yaml":   "- {name: a, url: https://example.org/, request: {moduleId: calendar}}\n",
	})
	set, err := files.Read([]string{"."}, files.Options{Lookup: variables()})
	require.NoError(t, err)
	require.Equal(t, []string{`tools.yaml:1:60: tool "a": request/moduleId: module "calendar" has no tokenUrl, so that there is no token to call with; give it one`}, faults(t, set.Check()))
}

// TestWhatSermasWritesIsRead: it writes every field that it knows, empty where there is nothing.
func TestWhatSermasWritesIsRead(t *testing.T) {
	folder(t, map[string]string{
		"app.yaml": "name: clinic\nappId: clinic\n",
		"tools.json": `[{"name":"book","url":"","emitter":"","schema":[{"parameter":"day","type":"string","ignore":null,"value":null}],
		  "request":{"url":"https://x.example/cal/:day","auth":"bearer","bearer":{"clientType":"client_credentials","clientId":"c","clientSecret":"s","audience":"a","tokenUrl":"https://x.example/token","refreshUrl":"","username":"","password":""},
		  "basic":{"username":"","password":""},"moduleId":"","headers":{}}},
		 {"name":"nothing","request":{"url":"","auth":"","basic":{"username":"","password":""},"bearer":{"clientType":"client_credentials","clientId":"","tokenUrl":""},"moduleId":"","headers":{}}}]`,
		"modules.yaml":  "- moduleId: spare\n  secret: ''\n  tokenUrl:\n",
		"settings.yaml": "chatModeEnabled:\nprompt:\nllm: {tools: azure_openai/gpt-4o}\n",
		"more.yaml":     "- name: bare\n  url:\n  emitter:\n  request:\n- name: desk\n  url: https://x.example/\n  request: {headers: {X-Desk: A}}\n",
		"tasks.yaml":    "- taskId: t\n",
	})
	set, err := files.Read([]string{"."}, files.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{
		`tasks.yaml: is left out: Earshot has no tasks: what asks for values one after the other is a tool with required parameters`,
		`modules.yaml:1:13: module "spare" is left out: no tool calls with it, and it has no secret`,
		`more.yaml:7:3: tool "desk": request: has headers and no auth: they are all that its calls authenticate with, as with auth "none"; say "none" where that is meant, else give basic, bearer or moduleId`,
		`settings.yaml:3:14: the model "azure_openai/gpt-4o" is left out: azure_openai is asked through variables of the service; set OPENAI_BASE_URL to https://RESOURCE.openai.azure.com/openai/v1, with OPENAI_API_KEY and OPENAI_MODEL`,
	}, lines(set.Notes))
	require.NoError(t, set.Check())
}
