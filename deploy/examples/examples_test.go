package examples

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

const book = `{"tools":[{"name":"book","description":"User needs an appointment",
	"schema":[{"parameter":"day","type":"string","required":true,"allowedValues":["Monday","Friday"]}],
	"examples":["I want an appointment on Monday"] %s}]}`

func javascript(t *testing.T, name string, installs bool) (folder string) {
	t.Helper()
	testbed.Need(t, "node", "npm")
	folder = filepath.Join(t.TempDir(), "examples", name)
	require.NoError(t, os.CopyFS(folder, testbed.Sources(name)))
	if !installs {
		return folder
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		testbed.Missing(t, "npm cannot get the packages of the lock file: "+string(out))
	}
	return folder
}

func TestSubscribersGetWhatFires(t *testing.T) {
	s := dev(t, `{}`)
	s.ask("PUT", "/v1/apps/clinic/repositories/desk", fmt.Sprintf(book, ""))
	s.ask("PUT", "/v1/apps/clinic/repositories/printer", `{"tools":[{"name":"print","description":"print it","answer":{"within":"1m"},"request":{"timeout":"1m"}}]}`)
	require.Len(t, s.say("before", "I want an appointment on Friday"), 1)
	for name, run := range map[string]func(t *testing.T) *testbed.Process{
		"Go": func(t *testing.T) *testbed.Process { return start(t, ".", s.around(), "subscriber") },
		"JavaScript": func(t *testing.T) *testbed.Process {
			return start(t, javascript(t, "subscriber", true), s.around(), "node", "subscriber.js")
		},
	} {
		t.Run(name, func(t *testing.T) {
			said := run(t)
			said.Await(t, `subscribed\n(?s:.*)book in before: {"day":"Friday"}\n`)
			s.say("after", "I want an appointment on Monday")
			said.Await(t, `book in after: {"day":"Monday"}\n`)
			printed := s.say(name, "print it")[0].(map[string]any)["call"].(map[string]any)
			require.Equal(t, "printed", printed["result"], printed)
		})
	}
}

func TestClientsOverNATSAreAnswered(t *testing.T) {
	s := bare(t, []string{"EARSHOT_NATS_INGRESS=on"})
	s.Await(t, `(requests over NATS)`)
	conn := testbed.Got(nats.Connect(s.NATS))(t)
	defer conn.Close()
	require.Eventually(t, func() bool {
		_, err := conn.Request("$SRV.PING.earshot", nil, time.Second)
		return err == nil
	}, testbed.Patience, testbed.Glance)
	s.ask("PUT", "/v1/apps/clinic", `{}`)
	s.ask("PUT", "/v1/apps/clinic/repositories/desk", fmt.Sprintf(book, ""))
	posts := func(body string) *testbed.Process {
		return start(t, ".", s.around(), "request", "earshot.v1.message.clinic.s1", body)
	}
	posts(`{"actor":"user","text":"I want an appointment on Friday"}`).Await(t, `(book {"day":"Friday"})\n`)
	posts(`{"actor":"nobody","text":"hello"}`).Await(t, `(400): (?s:.*)"pointer":"/actor"`)

	t.Run("JavaScript", func(t *testing.T) {
		got := start(t, javascript(t, "request", true), s.around(), "node", "request.js", "js")
		got.Await(t, `(?s:(earshot 1\.0\.0 has [^\n]*earshot\.v1\.message\.\*\.\*[^\n]*
first time: book {"day":"Friday"} .*
fired: book {"day":"Monday"}
refused: 422 .*
stats: 6 asked, 2 refused))`)
		fired := regexp.MustCompile(`time: book \S+ (\S+)`).FindAllStringSubmatch(got.String(), -1)
		require.Len(t, fired, 2)
		require.Equal(t, fired[0][1], fired[1][1], "the second time it is the answer to the first")
	})
}

func TestABackEndNeedsNATSAndAKeyAlone(t *testing.T) {
	s := bare(t, []string{"EARSHOT_NATS_INGRESS=keys"})
	s.ask("PUT", "/v1/apps/house", `{}`)
	around := append(s.around(), "EARSHOT_KEY="+s.keyOf("house", "tools", "messages", "triggers"), "EARSHOT_URL=")
	said := start(t, ".", around, "doorman", "house", "doorman/said.txt")
	for _, line := range []string{
		`does open garage`, `hears open delivered the garage is open`, `hears lock-up: Lock all doors of the house\. Shall I go ahead\? \(yes / no\)`, `does lock-up`,
	} {
		said.Await(t, "("+line+")")
	}
	start(t, ".", append(around, "EARSHOT_KEY=another"), "doorman", "house", "doorman/said.txt").Await(t, `repository\.house\.doors: (the key is not valid \(key_invalid\))`)
}

func TestEndpointsTakeCallsThatAreSigned(t *testing.T) {
	const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	s := dev(t, `{"signingSecret":"`+secret+`"}`)
	for name, run := range map[string]func(t *testing.T, variables []string){
		"Go": func(t *testing.T, variables []string) { start(t, ".", variables, "webhook") },
		"JavaScript": func(t *testing.T, variables []string) {
			start(t, javascript(t, "webhook", false), variables, "node", "webhook.js")
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := testbed.Address(t)
			run(t, []string{"SIGNING_SECRET=" + secret, "ADDR=" + address})
			require.Eventually(t, func() bool {
				forged, _ := testbed.Client{URL: "http://" + address}.Ask(t.Context(), "POST", "", `{"values":{"day":"Friday"}}`,
					"webhook-id", "forged", "webhook-timestamp", "1", "webhook-signature", "v1,AAAA")
				return forged.Status == http.StatusUnauthorized
			}, testbed.Patience, testbed.Glance)
			s.ask("PUT", "/v1/apps/clinic/repositories/desk", fmt.Sprintf(book, `, "url":"http://`+address+`/book"`))
			fired := s.say(name, "I want an appointment on Friday")[0].(map[string]any)
			call := fired["call"].(map[string]any)
			require.Equal(t, "delivered", call["state"], call)
			require.Equal(t, map[string]any{"booked": "Friday", "number": 1.0}, call["result"])
		})
	}
}

// spoken are tools that one speaks with: one that settles and asks for what lacks, and one that asks for a yes.
const spoken = `{"tools":[
	{"name":"turn-on-the-light","description":"Turn on the light in a room","examples":["turn on the light in the kitchen"],"settle":"60s","cancelOnNext":true,
	 "schema":[{"parameter":"room","type":"string","required":true,"ask":"Which room?","allowedValues":["kitchen","cellar"]}]},
	{"name":"ring-the-bell","description":"Ring the bell","examples":["ring the bell"]},
	{"name":"open-the-door","description":"Open the front door","examples":["open the front door"],"confirm":"always"}]}`

var conversation = []string{"turn on the light in the kitchen", "ring the bell", "turn on the light", "in the cellar", "open the front door", "yes", "good morning"}

// TestAProcessorOfPipecatsFormHearsAndSpeaks runs it with the names of Pipecat in testdata: Pipecat itself is not to be had
// where these tests run.
func TestAProcessorOfPipecatsFormHearsAndSpeaks(t *testing.T) {
	program := testbed.Python("import websockets")
	if program == "" {
		testbed.Missing(t, "no python3 with websockets: apt-get install python3-websockets, or pip install websockets")
	}
	s := dev(t, `{}`)
	s.ask("PUT", "/v1/apps/clinic/repositories/rooms", spoken)
	folder := testbed.Got(filepath.Abs("pipecat"))(t)
	around := s.around("EARSHOT_KEY="+s.keyOf("clinic", "messages", "triggers"), "PYTHONPATH=testdata", "PYTHONDONTWRITEBYTECODE=1")
	got := testbed.Start(t, folder, around, program, append([]string{"-u", "-W", "error", "rehearsal.py"}, conversation...)...)
	got.Await(t, `(closed)\n`)
	said := regexp.MustCompile(`(?m)^event: .*\n`).ReplaceAllString(got.String(), "")
	require.Regexp(t, `^the model knows: turn-on-the-light {"room": "kitchen"}: pending
the model hears: turn on the light in the kitchen
the model knows: ring-the-bell {}: delivered.*
the model hears: ring the bell
speaks: Which room\?
the model knows: turn-on-the-light {"room": "cellar"}: pending
the model hears: in the cellar
speaks: Open the front door\. Shall I go ahead\? \(yes / no\)
the model knows: open-the-door {}: delivered
the model hears: yes
the model hears: good morning
closed
$`, said)
	require.Regexp(t, `event: tool\.cancelled turn-on-the-light (cancel|retract)\n`, got.String(), "the user began to speak again")
	require.Regexp(t, `event: tool\.trigger open-the-door`, got.String())
	s.conversed()
}

// conversed checks what the conversation has left in the session of its name.
func (s *service) conversed() {
	states := map[string][]any{}
	for _, one := range s.ask("GET", "/v1/apps/clinic/triggers?limit=10", "")["items"].([]any) {
		record := one.(map[string]any)
		states[record["name"].(string)] = append(states[record["name"].(string)], record["state"])
	}
	require.Equal(s.T, map[string][]any{
		"turn-on-the-light": {"cancelled", "cancelled"}, "ring-the-bell": {"delivered"}, "open-the-door": {"delivered"},
	}, states)
}

func TestAVoiceFrontEndDecidesWhatItHasHeardAndTakesBack(t *testing.T) {
	s := dev(t, `{}`)
	s.ask("PUT", "/v1/apps/clinic/repositories/rooms", `{"tools":[
		{"name":"turn-on-the-light","description":"Turn on the light in a room","examples":["turn on the light in the kitchen"],
		 "schema":[{"parameter":"room","type":"string","required":true,"allowedValues":["kitchen","cellar"]}],"settle":"60s"},
		{"name":"ring-the-bell","description":"Ring the bell","examples":["ring the bell"]}]}`)
	token := s.ask("POST", "/v1/apps/clinic/sessions/s1/token", "")["token"].(string)
	said := start(t, ".", s.around("EARSHOT_KEY=", "EARSHOT_TOKEN="+token), "voice", "voice/said.txt", "s1")
	said.Await(t, `does turn-on-the-light {"room":"kitchen"}: pending\ntakes back\n(?s:.*)forgets\n(?s:.*)does ring-the-bell {}: published\n`)
	var texts []any
	for _, entry := range s.ask("GET", "/v1/apps/clinic/sessions/s1/messages", "")["items"].([]any) {
		texts = append(texts, entry.(map[string]any)["text"])
	}
	require.Equal(t, []any{"turn on the light in the kitchen", "ring the bell"}, texts, "a draft is in no history")
	light := s.ask("GET", "/v1/apps/clinic/triggers?limit=10", "")["items"].([]any)[1].(map[string]any)
	require.Equal(t, "cancelled", light["state"])
}

func TestMain(m *testing.M) { testbed.Main(m) }

func start(t *testing.T, folder string, variables []string, name string, args ...string) *testbed.Process {
	t.Helper()
	if name != "node" {
		name = testbed.Built(t, "earshot/deploy/examples/"+name)
	}
	return testbed.Start(t, folder, variables, name, args...)
}

type service struct {
	*testbed.Dev
	key string
}

func dev(t *testing.T, app string) *service {
	s := bare(t, nil)
	s.ask("PUT", "/v1/apps/clinic", app)
	s.key = s.keyOf("clinic", "tools", "messages")
	return s
}

// devOf is a service that has loaded the file of an example, which has the name of its app.
func devOf(t *testing.T, example string, variables ...string) *service {
	file := testbed.Got(filepath.Abs(filepath.Join(example, example+".yaml")))(t)
	s := bare(t, variables, "-f", file)
	s.Await(t, `1 file loaded`)
	s.key = s.keyOf(example, "tools", "messages")
	return s
}

func bare(t *testing.T, variables []string, args ...string) *service {
	t.Helper()
	return &service{Dev: testbed.NewDev(t, variables, args...)}
}

func (s *service) keyOf(app string, scopes ...string) string {
	body := testbed.Got(json.Marshal(map[string]any{"name": "example", "scopes": scopes}))(s.T)
	return s.ask("POST", "/v1/apps/"+app+"/keys", string(body))["key"].(string)
}

func (s *service) around(more ...string) []string {
	return append([]string{"EARSHOT_URL=" + s.URL, "EARSHOT_KEY=" + s.key, "NATS_URL=" + s.NATS}, more...)
}

func (s *service) ask(method, path, body string) map[string]any {
	text := s.Call(method, path, body)
	var read map[string]any
	require.NoError(s.T, json.Unmarshal(text, &read), "%s", text)
	return read
}

func (s *service) say(session, text string) []any {
	body := testbed.Got(json.Marshal(map[string]string{"actor": "user", "text": text}))(s.T)
	return s.ask("POST", "/v1/apps/clinic/sessions/"+session+"/messages", string(body))["matches"].([]any)
}
