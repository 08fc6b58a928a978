package main

import (
	_ "embed"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/emitter"
	"earshot/matcher"
	"earshot/matcher/evaldata"
	"earshot/matcher/llm/llmtest"
	"earshot/repositories/exactjson"
)

// The evaluations play real conversations through the whole program. The double returns the expected calls: the
// tests measure not a model, but that no call is lost or changed.

const players = 8

// stage is the program with some apps. Each has its own model name, by which the double identifies the
// conversation.
type stage struct {
	*world
	free chan *player
}

// player plays conversations one after the other, each in its own session.
type player struct {
	stage *stage
	app   string
	reply atomic.Pointer[llmtest.Reply]
}

func newStage(t *testing.T) *stage {
	s := &stage{world: serving(t, 1), free: make(chan *player, players)}
	byModel := map[string]*player{}
	for i := range players {
		p := &player{stage: s, app: fmt.Sprint("eval-", i)}
		s.put("/v1/apps/"+p.app, `{"settings":{"llm":{"tools":"openai/`+p.app+`"}}}`)
		byModel[p.app] = p
		s.free <- p
	}
	s.llm.Handle(func(request llmtest.Request) llmtest.Reply { return *byModel[request.Model].reply.Load() })
	return s
}

func (s *stage) each(cases []evaldata.Case, play func(t *testing.T, p *player, c evaldata.Case)) {
	s.t.Run("cases", func(t *testing.T) {
		for _, one := range cases {
			t.Run(one.ID, func(t *testing.T) {
				t.Parallel()
				if one.Contradiction != "" {
					t.Skip(one.Contradiction)
				}
				p := <-s.free
				defer func() { s.free <- p }()
				play(t, p, one)
			})
		}
	})
}

func (p *player) says(t *testing.T, calls ...evaldata.Call) {
	reply := evaldata.Reply(t, calls...)
	p.reply.Store(&reply)
}

// prepare registers a case's tools and posts all messages but the last, which fire nothing.
func (p *player) prepare(t *testing.T, c evaldata.Case) {
	p.ask(t, 201, "PUT", p.path(c)+"/repositories/tools", string(c.Body(t)))
	p.says(t)
	for _, message := range c.Messages[:len(c.Messages)-1] {
		require.Empty(t, p.post(t, c, message).Matches, message.Text)
	}
}

func (p *player) last(t *testing.T, c evaldata.Case) heard {
	return p.post(t, c, c.Messages[len(c.Messages)-1])
}

func (p *player) path(c evaldata.Case) string { return "/v1/apps/" + p.app + "/sessions/" + c.ID }

func (p *player) ask(t *testing.T, status int, method, path, body string) string {
	got := p.stage.world.ask(p.stage.replicas[0], method, path, body)
	require.NoError(t, got.Err)
	require.Equal(t, status, got.Status, "%s %s: %s", method, path, got.Body)
	return got.Body
}

// heard is an answer with the digits of its numbers.
type heard struct {
	Matches  []playedTrigger
	Rejected []struct {
		Name    string
		Values  map[string]any
		Missing []string
	}
}

// playedTrigger is a trigger in an answer, a record or an event.
type playedTrigger struct {
	Name     string
	Values   map[string]any
	Evidence map[string]*matcher.Evidence // of a record
}

func (p *player) post(t *testing.T, c evaldata.Case, message evaldata.Message) heard {
	body, err := json.Marshal(message)
	require.NoError(t, err)
	return exactly[heard](t, p.ask(t, 200, "POST", p.path(c)+"/messages", string(body)))
}

// records returns the trigger records of a case's session, the newest last.
func (p *player) records(t *testing.T, c evaldata.Case) []playedTrigger {
	list := exactly[struct{ Items []playedTrigger }](t, p.ask(t, 200, "GET", p.path(c)+"/triggers?limit=100", "")).Items
	slices.Reverse(list)
	return list
}

func (s *stage) triggers() map[string][]playedTrigger {
	s.rest()
	bySession := map[string][]playedTrigger{}
	for _, stored := range s.nats.Stored(emitter.Stream, "tool.trigger.>") {
		event := exactly[struct {
			SessionID string
			playedTrigger
		}](s.t, string(stored.Data))
		bySession[event.SessionID] = append(bySession[event.SessionID], event.playedTrigger)
	}
	return bySession
}

// exactly decodes JSON with the digits of numbers.
func exactly[T any](t *testing.T, text string) (value T) {
	require.NoError(t, exactjson.Unmarshal([]byte(text), &value), text)
	return value
}

// leastEvidence is slightly below the measured 92 %, as a share of the said values without dates.
const leastEvidence = 0.90

// isoDate matches values that the dialogues say relative to their own day, such as "tomorrow" or "March 8th".
// The program uses today's date, so their evidence is not checked here; package matcher measures it.
var isoDate = regexp.MustCompile(`^2019-\d\d-\d\d$`)

func TestEvalEveryExpectedValueOfBFCLReachesItsSubscribers(t *testing.T) {
	reachSubscribers(t, evaldata.BFCL(t))
}

func TestEvalEveryExpectedValueOfSGDReachesItsSubscribers(t *testing.T) {
	reached := reachSubscribers(t, evaldata.SGD(t))
	said, found := reached.said.Load(), reached.found.Load()
	t.Logf("the records have evidence for %d of %d values that were said, days aside", found, said)
	require.Positive(t, said)
	require.GreaterOrEqual(t, float64(found), leastEvidence*float64(said))
}

type tally struct{ calls, values, silent, said, found atomic.Int64 }

// reachSubscribers plays all cases and compares the answers, records and events with the expected ones.
func reachSubscribers(t *testing.T, cases []evaldata.Case) *tally {
	s, count := newStage(t), &tally{}
	s.each(cases, func(t *testing.T, p *player, c evaldata.Case) {
		p.prepare(t, c)
		p.says(t, c.Calls...)
		answer := p.last(t, c)
		require.Empty(t, answer.Rejected)
		requireUnharmed(t, c, answer.Matches)
		records := p.records(t, c)
		requireUnharmed(t, c, records)
		count.add(c, records)
	})
	events := s.triggers()
	for _, one := range cases {
		if one.Contradiction == "" {
			requireUnharmed(t, one, events[one.ID])
		}
	}
	t.Logf("%d values of %d calls arrived; %d conversations fired nothing", count.values.Load(), count.calls.Load(), count.silent.Load())
	return count
}

func (a *tally) add(c evaldata.Case, records []playedTrigger) {
	if len(c.Calls) == 0 {
		a.silent.Add(1)
	}
	for _, call := range c.Calls {
		a.calls.Add(1)
		a.values.Add(int64(len(call.Values)))
	}
	for _, parameter := range c.Grounded {
		if text, is := records[0].Values[parameter].(string); is && isoDate.MatchString(text) {
			continue
		}
		a.said.Add(1)
		if records[0].Evidence[parameter] != nil {
			a.found.Add(1)
		}
	}
}

func requireUnharmed(t *testing.T, c evaldata.Case, list []playedTrigger) {
	require.Len(t, list, len(c.Calls), c.ID)
	for i, call := range c.Calls {
		require.Equal(t, call.Name, list[i].Name, c.ID)
		require.Equal(t, c.Complete(call), list[i].Values, c.ID)
	}
}

// TestEvalCallThatLacksValuesFiresWhenTheyAreGiven plays dialogues that end before all required values are
// said, and then says them.
func TestEvalCallThatLacksValuesFiresWhenTheyAreGiven(t *testing.T) {
	cases := slices.DeleteFunc(evaldata.SGD(t), func(c evaldata.Case) bool { return c.Unfinished == nil })
	s := newStage(t)
	s.each(cases, func(t *testing.T, p *player, c evaldata.Case) {
		begun, rest := *c.Unfinished, c.Rest(*c.Unfinished)
		p.prepare(t, c)
		p.says(t, begun)
		answer := p.last(t, c)
		require.Empty(t, answer.Matches)
		require.Len(t, answer.Rejected, 1)
		require.Equal(t, begun.Name, answer.Rejected[0].Name)
		require.Equal(t, begun.Values, answer.Rejected[0].Values)
		require.Equal(t, c.Missing(begun), answer.Rejected[0].Missing)

		p.says(t, rest)
		answer = p.post(t, c, evaldata.Message{Actor: matcher.ActorUser, Text: "Then take " + strings.Join(c.Missing(begun), " and ")})
		require.Empty(t, answer.Rejected)
		requireUnharmed(t, completed(c), answer.Matches)
		requireUnharmed(t, completed(c), p.records(t, c))
	})
	events := s.triggers()
	for _, one := range cases {
		requireUnharmed(t, completed(one), events[one.ID])
	}
	t.Logf("%d calls fired when their %d missing values were given", len(cases), missing(cases))
}

// completed is a case whose expected call includes the rest of its values.
func completed(c evaldata.Case) evaldata.Case {
	whole := evaldata.Call{Name: c.Unfinished.Name, Values: maps.Clone(c.Unfinished.Values)}
	maps.Copy(whole.Values, c.Rest(*c.Unfinished).Values)
	c.Calls = []evaldata.Call{whole}
	return c
}

func missing(cases []evaldata.Case) (count int) {
	for _, one := range cases {
		count += len(one.Missing(*one.Unfinished))
	}
	return count
}

// lamps has the tools that these tests are about, and those of the package eval.
//
//go:embed eval/testdata/lamps.yaml
var lamps string

// TestEvalOfAServiceComesOutAsInProcess runs the conversations as dry runs, which store nothing.
func TestEvalOfAServiceComesOutAsInProcess(t *testing.T) {
	w := devInFolder(t)
	write(t, "home.yaml", doorTests)
	w.ok("apply", "home.yaml")
	here, there := command(t, nil, "eval", "home.yaml", "--json"), w.run("eval", "home.yaml", "--json", "--server", w.env["EARSHOT_URL"])
	require.Zero(t, here.code, here.err)
	require.Zero(t, there.code, there.err)
	one, other := read[map[string]any](t, here.out), read[map[string]any](t, there.out)
	require.Equal(t, one["tools"], other["tools"])
	require.EqualValues(t, 7, other["right"])
	require.Equal(t, "no triggers were found", strings.TrimSpace(w.ok("triggers")))
}

func TestEvalReplaysWhatItHasRecordedWithoutAKeyOrAClock(t *testing.T) {
	inFolder(t)
	write(t, "book.yaml", bookings)
	model := llmtest.New(t)
	model.Handle(obey)
	const key = "sk-planted-71f0c3"
	env := map[string]string{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": model.URL(), "OPENAI_MODEL": "small"}
	r := command(t, env, "eval", "book.yaml", "--record", "answers.json").good(t)
	asked := model.Count()
	require.NotContains(t, testbed.Read(t, "answers.json"), key)
	require.NotContains(t, r.out+r.err, key)

	write(t, "book.yaml", strings.Replace(bookings, "name: by a model", "name: by a model\nnow: 2031-02-03T04:05:06Z\ntimeZone: Asia/Tokyo", 1))
	r = command(t, map[string]string{"OPENAI_MODEL": "other"}, "eval", "book.yaml", "--replay", "answers.json").good(t)
	require.Equal(t, asked, model.Count(), "nobody is asked")

	write(t, "book.yaml", strings.Replace(bookings, "user: hello", "user: something else", 1))
	r = failing(t, nil, "eval", "book.yaml", "--replay", "answers.json", "--junit", "report.xml")
	require.Contains(t, r.out, `"something else" was not decided: `)
	require.Contains(t, r.out, "was not recorded")
	require.Contains(t, testbed.Read(t, "report.xml"), `<testsuite name="book.yaml" tests="1" failures="0" errors="1">`)
}

func TestEvalReportsForContinuousIntegration(t *testing.T) {
	inFolder(t)
	write(t, "home.yaml", doorTests)
	r := command(t, nil, "eval", "home.yaml", "--json").good(t)
	write(t, "before.json", r.out)
	require.Contains(t, command(t, nil, "eval", "home.yaml", "--compare", "before.json").out, "nothing got worse since before.json\n")

	write(t, "home.yaml", strings.ReplaceAll(doorTests, "values: {room: office}", "values: {room: kitchen}"))
	r = failing(t, nil, "eval", "home.yaml", "--junit", "report.xml", "--compare", "before.json")
	require.Contains(t, r.out, "worse: test a room that is asked for passed before: line ")
	require.Contains(t, r.out, "worse: tool light-on: values was 100 %, and is 0 %")
	require.NotContains(t, r.out, "worse: tool light-on: precision", "of tools alone")
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Cases []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal([]byte(testbed.Read(t, "report.xml")), &suites))
	require.Equal(t, 2, suites.Tests)
	require.Equal(t, 1, suites.Failures)
	require.Len(t, suites.Suites[0].Cases, 2)
	require.Nil(t, suites.Suites[0].Cases[0].Failure)
	require.Contains(t, suites.Suites[0].Cases[1].Failure.Message, `"the office" came to light-on {"room":"office"} (wrong)`)
}

func TestEvalReadsTheTestsOfASERMASApp(t *testing.T) {
	inFolder(t)
	require.NoError(t, os.Mkdir("tests", 0o700))
	write(t, "app.yaml", "appId: home\nname: Home\n")
	write(t, "tools.yaml", "- name: radio-on\n  description: Play the radio\n  examples: [\"turn on the radio\"]\n")
	write(t, "tests/radio.yaml", "appId: home\nsettings: {chatModeEnabled: false}\nchat:\n- message: turn on the radio\n  evaluation: the radio plays\n- expect: {tool: radio-on}\n- message: thanks\n  wait: 100\n")
	r := command(t, nil, "eval", "-f", ".").good(t)
	require.Contains(t, r.out, "1 of 1 tests passed; of 1 messages")
	require.Contains(t, r.err, "tests/radio.yaml:5:3: test \"radio\": evaluation is left out: a model would have to judge it")
	require.Contains(t, r.err, "settings is left out")
	require.Contains(t, command(t, nil, "validate", ".").out, "1 test: no errors")
}

func TestFaultsOfTestsHaveTheirPlaces(t *testing.T) {
	inFolder(t)
	write(t, "home.yaml", lamps+`---
kind: test
name: many faults
tools: [light-on, lite-on]
now: today
chats: []
chat:
  - expect: {none: true}
  - user: turn on the light
  - expect: {tool: light-on, values: {room: cellar, rom: office}}
  - expect: {tool: radio-onn}
  - user: hm
  - expect: {rejected: light-on, missing: [place], none: true}
  - expect: {values: {room: office}}
  - says: hello
`)
	r := failing(t, nil, "validate", "home.yaml")
	for _, want := range []string{
		`there is no tool "lite-on"; did you mean "light-on"?`,
		`home.yaml:19:6: test "many faults": now: "today" is not a time of RFC 3339`,
		`home.yaml:20:1: test "many faults": unknown field "chats"; did you mean "chat"?`,
		`home.yaml:22:5: test "many faults": expect must follow a message of the user`,
		`home.yaml:24:45: test "many faults": values/room: "cellar" is not an allowed value`,
		`values/rom: `,
		`there is no tool "radio-onn"; did you mean "radio-on"?`,
		`expect needs exactly one of tool, rejected and none, and this one has 2`,
		`expect needs exactly one of tool, rejected and none, and this one has 0`,
		`home.yaml:29:5: test "many faults": unknown field "says" in chat`,
	} {
		require.Contains(t, r.out, want)
	}
	require.Contains(t, atDev(t, nil).ok("apply", "home.yaml"), "created 2", "tests are no part of what is applied")
}
