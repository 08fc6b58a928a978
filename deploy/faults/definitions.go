package main

import (
	"fmt"
	"strings"

	"earshot/deploy/faults/endpoints"
)

// app is the definition of an app; its credentials are planted ones. Chats are in act, and an MCP
// server is a source: the first app's has no sessions, those of the others have.
func (w *world) app(id string) string {
	path := endpoints.PathSessions
	if id == apps[0] {
		path = endpoints.PathStateless
	}
	return fmt.Sprintf(`{"settings":{"limits":null,"openai":{"mode":"act"}},"signingSecret":%q,"modules":[{"moduleId":"calendar","secret":%q,"tokenUrl":%q}],
		"sources":[{"name":"remote","type":"mcp","url":%q,"headers":{"X-Api-Key":%q},"timeout":"1s","refresh":"5s"}]}`,
		w.secrets.signing, w.secrets.module, w.endpoint.URL+"/token", w.remote.URL+path, w.secrets.remote)
}

// remote is a repository whose tools are those of the MCP server.
const remote = `{"from":"remote"}`

// desk is the repository of all tools but those that fire once.
func (w *world) desk() string {
	basic := fmt.Sprintf(`"auth":"basic","basic":{"username":%q,"password":%q}`, user, w.secrets.password)
	tool := func(name, path, request string, more ...string) string {
		return fmt.Sprintf(`{"name":%q,"url":%q,"emitter":"calendar.request","request":{%s},"schema":[{"parameter":"day","type":"string","required":true}]%s}`,
			name, w.endpoint.URL+path, request, strings.Join(append([]string{""}, more...), ","))
	}
	answered := func(name, within string) string {
		return fmt.Sprintf(`{"name":%q,"answer":{"within":%q},"request":{"timeout":"200ms"},"schema":[{"parameter":"day","type":"string"}]}`, name, within)
	}
	form := func(name, path string) string {
		return fmt.Sprintf(`{"name":%q,"url":%q,"schema":[{"parameter":"day","type":"string","required":true},{"parameter":"desk","type":"string","required":true},{"parameter":"hour","type":"string","required":true}]}`,
			name, w.endpoint.URL+path)
	}
	return `{"tools":[` + strings.Join([]string{
		`{"name":"note","schema":[{"parameter":"day","type":"string","required":true}]}`,
		tool("book", "/ok", `"auth":"module","moduleId":"calendar"`), tool("order", "/busy", basic), tool("risky", "/dead", basic),
		tool("hang", "/hang", `"timeout":"1s"`), tool("drip", "/drip", `"timeout":"1s"`), tool("giga", "/giga", `"timeout":"2s"`),
		tool("lamp", "/ok", "", `"settle":"300ms"`), tool("mail", "/ok", "", `"settle":"1s","cancelOnNext":true`),
		tool("refund", "/ok", `"idempotent":false`, `"confirm":"always"`), tool("alarm", "/ok", "", `"dedupe":{"within":"10m","scope":"app"}`),
		tool("guard", "/ok", "", `"confirm":"always","settle":"200ms","dedupe":{"within":"10m"}`),
		answered("ask", "10m"), answered("mute", "1s"),
		tool("charge", "/ok", `"idempotent":false`), tool("pledge", "/hang", `"idempotent":false,"timeout":"1s"`),
		form("form", "/ok"), form("form-busy", "/busy"),
	}, ",") + `]}`
}

// once is a repository of which one tool fires, and then it is gone.
func (w *world) once(name string) string {
	return fmt.Sprintf(`{"options":{"triggerOnce":true},"tools":[{"name":"%s-a","url":%q},{"name":"%s-b"}]}`, name, w.endpoint.URL+"/ok", name)
}
