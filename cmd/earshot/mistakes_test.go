package main

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mistake is a request that readers of the documents are likely to get wrong, with the words that lead to the
// right one.
type mistake struct {
	what, request, body string
	words               []string // of the answer, literally
}

func says(words ...string) []string { return words }

// For messages, paths begin at /v1/apps/clinic.
var mistakesOfMessages = []mistake{
	{"no actor", "POST /sessions/s1/messages", `{"text":"hello"}`, says(`/actor`, `is missing`, `"user"`, `"agent"`)},
	{"OpenAI's names", "POST /sessions/s1/messages", `{"role":"user","content":"hello"}`, says(`did you mean "actor"?`, `did you mean "text"?`)},
	{"a role of a model", "POST /sessions/s1/messages", `{"actor":"assistant","text":"hello"}`, says(`/actor`, `"user"`, `did you mean "agent"?`)},
	{"the actor misspelt", "POST /sessions/s1/messages", `{"actor":"usr","text":"hello"}`, says(`did you mean "user"?`)},
	{"no text", "POST /sessions/s1/messages", `{"actor":"user"}`, says(`/text`, `is missing`)},
	{"an empty text", "POST /sessions/s1/messages", `{"actor":"user","text":""}`, says(`/text`, `must not be empty`)},
	{"a number as text", "POST /sessions/s1/messages", `{"actor":"user","text":5}`, says(`/text`, `string`)},
	{"message in place of text", "POST /sessions/s1/messages", `{"actor":"user","message":"hello"}`, says(`/message`, `did you mean "text"?`)},
	{"id in place of messageId", "POST /sessions/s1/messages", `{"actor":"user","text":"hello","id":"m1"}`, says(`did you mean "messageId"?`)},
	{"an id with a space", "POST /sessions/s1/messages", `{"actor":"user","text":"hello","messageId":"m 1"}`, says(`/messageId`, `without spaces`)},
	{"a session with a space", "POST /sessions/s%201/messages", `{"actor":"user","text":"hello"}`, says(`s 1`, `A-Z a-z 0-9`)},
	{"another app", "POST /../clinik/sessions/s1/messages", `{"actor":"user","text":"hello"}`, says(`clinik`, `did you mean "clinic"?`, `PUT /v1/apps/clinik`)},
	{"no quotes", "POST /sessions/s1/messages", `{actor:"user",text:"hello"}`, says(`JSON`, `line 1, column 2`)},
	{"a comma too many", "POST /sessions/s1/messages", `{"actor":"user","text":"hello",}`, says(`JSON`, `line 1, column 32`)},
	{"no body", "POST /sessions/s1/messages", ``, says(`a JSON body is needed`)},
	{"a list", "POST /sessions/s1/messages", `[{"actor":"user","text":"hello"}]`, says(`is not an object`, `actor`, `text`)},
	{"a parameter in lower case", "POST /sessions/s1/messages?dryrun=true", `{"actor":"user","text":"hello"}`, says(`did you mean "dryRun"?`)},
	{"yes for true", "POST /sessions/s1/messages?dryRun=yes", `{"actor":"user","text":"hello"}`, says(`dryRun`, `yes`, `true`, `false`)},
	{"one for true", "POST /sessions/s1/messages?explain=1", `{"actor":"user","text":"hello"}`, says(`explain`, `true`, `false`)},
	{"another method", "PUT /sessions/s1/messages", `{"actor":"user","text":"hello"}`, says(`PUT`, `GET`, `POST`)},
	{"session for sessions", "POST /session/s1/messages", `{"actor":"user","text":"hello"}`, says(`/session/s1/messages`, `did you mean`, `/sessions/`)},
	{"app for apps", "GET /../../app/clinic", ``, says(`/v1/app/clinic`, `did you mean`, `/v1/apps/`)},
	{"no version", "GET /../../../apps/clinic", ``, says(`did you mean`, `/v1/apps/`)},
	{"metadata as a text", "POST /sessions/s1/messages", `{"actor":"user","text":"hello","metadata":"x"}`, says(`/metadata`, `object`)},
	{"a date of the user's clock", "POST /sessions/s1/messages", `{"actor":"user","text":"hello","time":"now"}`, says(`/time`, `did you mean "timeZone"?`, `now`)},
	{"an explanation of nothing", "GET /sessions/s1/messages/nowhere/explain", ``, says(`nowhere`, `history of the session`)},
}

// For triggers.
var mistakesOfTriggers = []mistake{
	{"another tool", "POST /triggers", `{"name":"bok","source":"ui"}`, says(`did you mean "book"?`)},
	{"no source", "POST /triggers", `{"name":"book","values":{"day":"Monday"}}`, says(`/source`, `is missing`, `"ui"`)},
	{"a button", "POST /triggers", `{"name":"book","source":"button","values":{"day":"Monday"}}`, says(`/source`, `button`, `"ui"`)},
	{"no value", "POST /triggers", `{"name":"book","source":"ui"}`, says(`day`, `required`)},
	{"a value misspelt", "POST /triggers", `{"name":"book","source":"ui","values":{"day":"Monday","peple":2}}`, says(`did you mean "people"?`)},
	{"a word for a number", "POST /triggers", `{"name":"book","source":"ui","values":{"day":"Monday","people":"two"}}`, says(`people`, `two`, `integer`)},
	{"values as a list", "POST /triggers", `{"name":"book","source":"ui","values":["Monday"]}`, says(`/values`, `object`)},
	{"tool for name", "POST /triggers", `{"tool":"book","source":"ui"}`, says(`did you mean "name"?`)},
	{"arguments for values", "POST /triggers", `{"name":"book","source":"ui","arguments":{"day":"Monday"}}`, says(`did you mean "values"?`)},
	{"params for values", "POST /triggers", `{"name":"book","source":"ui","params":{"day":"Monday"}}`, says(`did you mean "values"?`)},
	{"session for sessionId", "POST /triggers", `{"name":"book","source":"ui","session":"s1","values":{"day":"Monday"}}`, says(`/session`, `unknown field`, `repositoryId`)},
	{"the console's old word", "GET /triggers?state=dead", ``, says(`pending, delivered, failed`, `did you mean "failed"?`)},
	{"done", "GET /triggers?state=done", ``, says(`pending, delivered, failed`)},
	{"a large page", "GET /triggers?limit=1000", ``, says(`limit`, `1000`, `200`)},
	{"a word as limit", "GET /triggers?limit=ten", ``, says(`limit`, `ten`, `1 to 200`)},
	{"a word as time", "GET /triggers?since=yesterday", ``, says(`since`, `yesterday`, `T`, `Z`)},
	{"an offset", "GET /triggers?offset=10", ``, says(`offset`, `after`)},
	{"a page", "GET /triggers?page=2", ``, says(`page`, `after`)},
	{"no such trigger", "GET /triggers/nowhere", ``, says(`nowhere`, `no such trigger`)},
	{"retry of nothing", "POST /triggers/nowhere/retry", ``, says(`nowhere`)},
}

// For tools, each a complete repository.
var mistakesOfTools = []mistake{
	{"a field misspelt", "", `"descripton":"d"`, says(`did you mean "description"?`)},
	{"a url without a scheme", "", `"url":"cal.example/book"`, says(`cal.example/book`, `https://`)},
	{"a url of files", "", `"url":"ftp://cal.example/book"`, says(`ftp`, `http`, `https`)},
	{"another form of placeholder", "", `"url":"https://cal.example/:day/{day}","schema":[DAY]`, says(`{day}`, `:day`)},
	{"a placeholder misspelt", "", `"url":"https://cal.example/:dya","schema":[DAY]`, says(`did you mean "day"?`)},
	{"a type of Go", "", `"schema":[{"parameter":"day","type":"int"}]`, says(`int`, `did you mean "integer"?`)},
	{"str", "", `"schema":[{"parameter":"day","type":"str"}]`, says(`did you mean "string"?`)},
	{"a date as type", "", `"schema":[{"parameter":"day","type":"date"}]`, says(`"type": "string"`, `"format": "date"`)},
	{"a format in one word", "", `"schema":[{"parameter":"day","type":"string","format":"datetime"}]`, says(`did you mean "date-time"?`)},
	{"an object as schema", "", `"schema":{"day":"string"}`, says(`"properties"`, `takes no value`)},
	{"a word as required", "", `"schema":[{"parameter":"day","type":"string","required":"yes"}]`, says(`required`, `is a string, not a boolean`)},
	{"a default of another type", "", `"schema":[{"parameter":"day","type":"integer","default":"two"}]`, says(`default`, `two`, `integer`)},
	{"enum", "", `"schema":[{"parameter":"day","type":"string","enum":["a"]}]`, says(`enum`, `did you mean "allowedValues"?`)},
	{"values for allowedValues", "", `"schema":[{"parameter":"day","type":"string","allowedValue":["a"]}]`, says(`did you mean "allowedValues"?`)},
	{"name for parameter", "", `"schema":[{"name":"day","type":"string"}]`, says(`parameter`)},
	{"a mark of nothing", "", `"schema":[DAY],"examples":["book [Monday](dya)"]`, says(`dya`, `did you mean "day"?`)},
	{"a mark without an end", "", `"schema":[DAY],"examples":["book [Monday](day"]`, says(`examples`, `)`)},
	{"one example", "", `"examples":"book"`, says(`/examples`, `is a string, not an array`)},
	{"another method", "", `"url":"https://cal.example","request":{"method":"FETCH"}`, says(`method`, `FETCH`, `GET`, `POST`)},
	{"a method misspelt", "", `"url":"https://cal.example","request":{"method":"POTS"}`, says(`POTS`, `POST`)},
	{"a method beside the url", "", `"url":"https://cal.example","method":"GET"`, says(`method`, `request`)},
	{"headers beside the url", "", `"url":"https://cal.example","headers":{"A":"b"}`, says(`headers`, `request`)},
	{"seconds as a number", "", `"url":"https://cal.example","request":{"timeout":5}`, says(`timeout`, `is a number`, `"10s"`)},
	{"seconds without a unit", "", `"url":"https://cal.example","request":{"timeout":"5"}`, says(`timeout`, `"5"`, `unit`, `"10s"`)},
	{"hours in words", "", `"url":"https://cal.example","request":{"retryFor":"3 hours"}`, says(`retryFor`, `3 hours`, `"15m"`)},
	{"a timeout of minutes", "", `"url":"https://cal.example","request":{"timeout":"5m"}`, says(`timeout`, `"5m"`, `at most 1m`)},
	{"a word as auth", "", `"url":"https://cal.example","request":{"auth":"oauth"}`, says(`auth`, `oauth`, `bearer`)},
	{"a token as bearer", "", `"url":"https://cal.example","request":{"bearer":"abc"}`, says(`bearer`, `tokenUrl`)},
	{"auth without credentials", "", `"url":"https://cal.example","request":{"auth":"basic"}`, says(`basic`, `username`)},
	{"a module that is not there", "", `"url":"https://cal.example","request":{"moduleId":"crm"}`, says(`crm`, `modules`)},
	{"a key in the url", "", `"url":"https://ann:pw@cal.example"`, says(`basic`)},
	{"yes for confirm", "", `"confirm":"yes"`, says(`confirm`, `yes`, `always`, `once`)},
	{"true for confirm", "", `"confirm":true`, says(`confirm`, `always`)},
	{"a duration as dedupe", "", `"dedupe":"1m"`, says(`dedupe`, `within`)},
	{"a minute in words", "", `"dedupe":{"within":"1 minute"}`, says(`within`, `1 minute`, `"10m"`)},
	{"equal values of nothing", "", `"schema":[DAY],"dedupe":{"by":["dya"],"within":"1m"}`, says(`dya`, `did you mean "day"?`)},
	{"a cancel without time", "", `"cancelOnNext":true`, says(`cancelOnNext`, `settle`)},
	{"an answer and a url", "", `"url":"https://cal.example","answer":{"within":"10s"}`, says(`answer`, `url`)},
	{"an emitter of one word", "", `"emitter":"booking"`, says(`emitter`, `resource.scope`)},
	{"a login of nobody", "", `"authRequired":["google"]`, says(`google`, `authServices`)},
	{"a source that is not there", "", `"type":"postgres-sql","source":"db","statement":"SELECT 1"`, says(`db`, `sources`)},
	{"a statement without a type", "", `"statement":"SELECT 1"`, says(`statement`, `type`)},
	{"a kind of database", "", `"type":"postgres","source":"db","statement":"SELECT 1"`, says(`did you mean "postgres-sql"?`)},
	{"a name with a space", "", `"name":"book it"`, says(`book it`, `A-Z a-z 0-9 _ -`)},
	{"unit without a number", "", `"schema":[{"parameter":"day","type":"string","unit":"minutes"}]`, says(`unit`, `for numbers`)},
	{"bounds of a text", "", `"schema":[{"parameter":"day","type":"string","minValue":1}]`, says(`minValue`, `for numbers`)},
	{"an array of nothing", "", `"schema":[{"parameter":"days","type":"array"}]`, says(`items`)},
}

// For repositories, apps and keys.
var mistakesOfApps = []mistake{
	{"tools as an object", "PUT /repositories/r", `{"tools":{"book":{}}}`, says(`/tools`, `is an object, not an array`)},
	{"a list of tools", "PUT /repositories/r", `[{"name":"book"}]`, says(`not an object`, `tools`)},
	{"a tool in place of a repository", "PUT /repositories/r", `{"name":"book","description":"d"}`, says(`tools`)},
	{"two tools of one name", "PUT /repositories/r", `{"tools":[{"name":"a"},{"name":"a"}]}`, says(`/tools/1/name`, `a`)},
	{"a tool without a name", "PUT /repositories/r", `{"tools":[{"description":"d"}]}`, says(`/tools/0/name`, `is missing`)},
	{"an app that is not there", "PUT /../shop/repositories/r", `{"tools":[]}`, says(`shop`, `PUT /v1/apps/shop`)},
	{"once misspelt", "PUT /repositories/r", `{"options":{"once":true},"tools":[]}`, says(`did you mean "triggerOnce"?`)},
	{"settings misspelt", "PATCH ", `{"setings":{}}`, says(`did you mean "settings"?`)},
	{"a number as threshold", "PUT ", `{"settings":{"offline":{"bar":0.5}}}`, says(`bar`, `"certain"`, `"likely"`)},
	{"a word as threshold", "PUT ", `{"settings":{"offline":{"bar":"high"}}}`, says(`high`, `"certain"`, `"likely"`)},
	{"an origin without a scheme", "PUT ", `{"settings":{"allowedOrigins":["localhost:3000"]}}`, says(`localhost:3000`, `scheme://host:port`)},
	{"an origin with a path", "PUT ", `{"settings":{"allowedOrigins":["https://shop.example/chat"]}}`, says(`https://shop.example/chat`, `https://shop.example`)},
	{"a city as zone", "PUT ", `{"settings":{"timeZone":"Berlin"}}`, says(`Berlin`, `Europe/Berlin`)},
	{"an abbreviated zone", "PUT ", `{"settings":{"timeZone":"CEST"}}`, says(`CEST`, `Europe/`)},
	{"a language in words", "PUT ", `{"settings":{"language":"german"}}`, says(`german`, `de`)},
	{"a model without a provider", "PUT ", `{"settings":{"llm":{"tools":"gpt-4o-mini"}}}`, says(`gpt-4o-mini`, `openai/gpt-4o-mini`)},
	{"model for llm", "PUT ", `{"settings":{"model":"openai/gpt-4o-mini"}}`, says(`model`, `llm`)},
	{"an event that is not there", "PUT ", `{"settings":{"webhooks":[{"name":"a","url":"https://a.example","types":["tool.fired"]}]}}`, says(`tool.fired`, `tool.trigger`)},
	{"a source of a kind", "PUT ", `{"sources":[{"name":"db","type":"postgresql"}]}`, says(`did you mean "postgres"?`)},
	{"a login of a kind", "PUT ", `{"authServices":[{"name":"g","type":"oauth"}]}`, says(`oauth`, `google`, `oidc`)},
	{"a module without a secret", "PUT ", `{"modules":[{"moduleId":"crm"}]}`, says(`secret`, `is missing`)},
	{"a limit in words", "PUT ", `{"settings":{"limits":{"messagesPerMinute":"many"}}}`, says(`messagesPerMinute`, `a string, not an integer`)},
	{"a limit per second", "PUT ", `{"settings":{"limits":{"messagesPerSecond":5}}}`, says(`did you mean "messagesPerMinute"?`)},
	{"a scope misspelt", "POST /keys", `{"scopes":["message"]}`, says(`did you mean "messages"?`)},
	{"a key without scopes", "POST /keys", `{"name":"front desk"}`, says(`/scopes`, `is missing`, `messages`)},
	{"a token for a day", "POST /sessions/s1/token", `{"expiresIn":"1 day"}`, says(`/expiresIn`, `1 day`, `24h`)},
	{"tokens for token", "POST /sessions/s1/tokens", `{}`, says(`did you mean "/v1/apps/clinic/sessions/s1/token"?`)},
	{"a version that is not there", "POST /repositories/desk/versions/99/restore", ``, says(`version "99"`)},
	{"a repository that is not there", "GET /repositories/dsk", ``, says(`dsk`, `did you mean "desk"?`)},
	{"a test without a chat", "PUT /tests/t", `{"conversation":[{"user":"book"}]}`, says(`/conversation`, `chat`, `is missing`)},
	{"usage of days", "GET /usage?days=10000", ``, says(`days`, `from, to, step`)},
}

// typed is a command that readers are likely to get wrong, with the file tools.yaml.
type typed struct {
	what, line, file string
	words            []string
}

var mistakesOfCommands = []typed{
	{"a command misspelt", "aply -f tools.yaml", "", says(`unknown command "aply"`, `did you mean "apply"?`)},
	{"a port", "dev --port 9000", "", says(`unknown flag: --port`, `--addr 127.0.0.1:9000`)},
	{"start", "start", "", says(`earshot dev`, `earshot serve`)},
	{"an app to listen to", "listen --app clinic", "", says(`'tool.*.APP.>'`)},
	{"why as a command", "explain m1", "", says(`/why`)},
	{"test for eval", "test tools.yaml", "", says(`earshot eval`)},
	{"init", "init", "", says(`earshot`, `--help`)},
	{"a server without a scheme", "chat --server localhost:8080 hello", "", says(`localhost:8080`, `http://`)},
	{"a server that is not there", "chat --server http://127.0.0.1:1 hello", "", says(`http://127.0.0.1:1`, `earshot dev`)},
	{"a wrong key", "chat --key wrong hello", "", says(`401`, `EARSHOT_KEY`)},
	{"an app that is not there", "chat --app clinik hello", "", says(`clinik`, `did you mean "clinic"?`)},
	{"a session with a space", "chat --app clinic --session a%20b hello", "", says(`a b`, `A-Z a-z 0-9`)},
	{"a file that is not there", "apply -f tool.yaml", "", says(`tool.yaml`, `no such file`)},
	{"no file", "apply", "", says(`tools.yaml`, `standard input`)},
	{"a folder without files", "validate -f .", "-", says(`the folder has no *.yaml`)},
	{"a state misspelt", "triggers --state fialed", "", says(`did you mean "failed"?`)},
	{"a time in words", "triggers --until tomorrow", "", says(`--until`, `tomorrow`, `10m`)},
	{"retry of all", "triggers retry", "", says(`--all`)},
	{"serve without settings", "serve", "", says(`REDIS_URL`, `NATS_URL`, `EARSHOT_ADMIN_KEY`, `EARSHOT_SECRET_KEY`, `earshot dev`)},
	{"a Redis without a scheme", "serve --redis-url localhost:6379", "", says(`REDIS_URL`, `redis://`)},
	{"a NATS of HTTP", "serve --nats-url http://localhost:4222", "", says(`NATS_URL`, `nats://`)},
	{"a port as address", "dev --addr 8080", "", says(`8080`, `127.0.0.1:8080`)},
	{"a level of logs", "serve --log-level verbose", "", says(`verbose`, `debug`, `info`)},
	{"import of something", "import swagger shop.yaml", "", says(`swagger`, `openapi`)},
	{"import of a file that is none", "import openapi tools.yaml", "kind: tool\nname: a\n", says(`tools.yaml`, `openapi`)},
	{"eval without tests", "eval tools.yaml", "kind: tool\nname: a\ndescription: d\n", says(`kind: test`)},
	{"a subject of another product", "listen events.>", "", says(`events.>`, `tool.`)},
	{"a body of REST", "validate -f tools.yaml", `{"tools":[{"name":"x","description":"y"}]}`, says(`kind: repository`)},
	{"a kind misspelt", "validate -f tools.yaml", "kind: tol\nname: a\n", says(`tools.yaml:1:7`, `did you mean "tool"?`)},
	{"no kind", "validate -f tools.yaml", "name: a\ndescription: d\n", says(`tools.yaml`, `kind`, `tool`)},
	{"a tab", "validate -f tools.yaml", "kind: tool\n\tname: a\n", says(`tools.yaml:2`, `spaces, not with tabs`)},
	{"a variable that is not set", "validate -f tools.yaml", "kind: tool\nname: a\ndescription: ${NOT_SET_HERE}\n", says(`NOT_SET_HERE`, `not set`)},
	{"a tool twice", "validate -f tools.yaml", "kind: tool\nname: a\ndescription: d\n---\nkind: tool\nname: a\ndescription: d\n", says(`tools.yaml:6`, `twice`, `line 2`)},
	{"none as tool", "eval tools.yaml", "kind: tool\nname: a\ndescription: d\n---\nkind: test\nname: a\nchat:\n- user: hello\n  expect: {tool: none}\n", says(`{none: true}`)},
	{"a placeholder of OpenAPI", "validate -f tools.yaml", "kind: tool\nname: a\ndescription: d\nurl: https://a.example/{day}\nschema:\n- {parameter: day, type: string}\n", says(`tools.yaml:4`, `{day}`, `:day`)},
	{"a field misspelt in a file", "validate -f tools.yaml", "kind: tool\nname: a\ndescripton: d\n", says(`tools.yaml:3:1`, `did you mean "description"?`)},
	{"yes of YAML", "validate -f tools.yaml", "kind: tool\nname: a\ndescription: d\nschema:\n- {parameter: day, type: string, required: yes please}\n", says(`tools.yaml:5`, `not a boolean`)},
}

func (m mistake) leads(t *testing.T, got httpAnswer) {
	require.NoError(t, got.Err)
	told := read[struct {
		Detail string
		Errors []struct{ Pointer, Detail string }
		Notes  []string
	}](

		t, got.Body)

	text := strings.Join(append(told.Notes, told.Detail), "\n")
	for _, one := range told.Errors {
		text += "\n" + one.Pointer + " " + one.Detail
	}
	for _, word := range m.words {
		require.Contains(t, text, word, "%s: %d %s", m.body, got.Status, got.Body)
	}
}

// TestTypicalMistakesLeadToTheRightWay makes typical mistakes, and checks the hints.
func TestTypicalMistakesLeadToTheRightWay(t *testing.T) {
	w := serving(t, 1)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","description":"Books an appointment","schema":[
		{"parameter":"day","type":"string","required":true},{"parameter":"people","type":"integer"}],"examples":["book [Monday](day)"]}]}`)
	made := 0
	for _, m := range slices.Concat(mistakesOfMessages, mistakesOfTriggers, mistakesOfApps) {
		made++
		t.Run(m.what, func(t *testing.T) {
			method, at, _ := strings.Cut(m.request, " ")
			at, query, asked := strings.Cut(at, "?")
			at = path.Join("/v1/apps/clinic", at)
			if asked {
				at += "?" + query
			}
			m.leads(t, w.ask(w.replicas[0], method, at, m.body))
		})
	}
	for _, m := range mistakesOfTools {
		made++
		t.Run("tool with "+m.what, func(t *testing.T) {
			tool := strings.ReplaceAll(m.body, "DAY", `{"parameter":"day","type":"string"}`)
			if !strings.HasPrefix(tool, `"name"`) {
				tool = `"name":"a",` + tool
			}
			m.leads(t, w.ask(w.replicas[0], "PUT", "/v1/apps/clinic/repositories/r", `{"tools":[{`+tool+`}]}`))
		})
	}
	for _, m := range mistakesOfCommands {
		made++
		t.Run(m.line, func(t *testing.T) {
			inFolder(t)
			if m.file != "" && m.file != "-" {
				write(t, "tools.yaml", m.file)
			}
			args := strings.Fields(m.line)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "%20", " ")
			}
			variables := map[string]string{"EARSHOT_URL": w.replicas[0].url, "EARSHOT_KEY": testAdminKey}
			got := failing(t, variables, args...)
			for _, word := range m.words {
				require.Contains(t, got.out+got.err, word, m.what)
			}
		})
	}
	require.GreaterOrEqual(t, made, 150)
	require.NotContains(t, w.call(404, "GET", "/v1/apps/clinic/zzzzzzzz", "").Body, "did you mean", "no path is like it")
}
