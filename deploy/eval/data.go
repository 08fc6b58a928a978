package main

import (
	"encoding/json"
	"fmt"
	"time"

	"earshot/matcher/evaldata"
	"earshot/repositories"
	"earshot/repositories/files"
	"earshot/repositories/lists"
)

type evalCase struct {
	kind  string
	test  *files.Test
	tools *repositories.Repository
}

func repository(tools any) (*repositories.Repository, error) {
	body, err := json.Marshal(map[string]any{"tools": tools})
	if err != nil {
		return nil, err
	}
	return repositories.DecodeRepository(repositories.Scope{AppID: "eval"}, "eval", body)
}

// saying makes the test of a conversation whose last message is to be matched; what came before is only heard.
func saying(id string, history []evaldata.Message, expect ...files.Expectation) *files.Test {
	test := &files.Test{Name: id}
	for _, one := range history {
		test.Chat = append(test.Chat, files.Message{Agent: one.Actor == "agent", Text: one.Text, Decided: true})
	}
	if len(expect) == 0 {
		expect = []files.Expectation{{None: true}}
	}
	last := &test.Chat[len(test.Chat)-1]
	last.Decided, last.Agent, last.Expect = false, false, expect
	return test
}

func readCLINC(folder string) (cases []evalCase, err error) {
	tools, said, _, err := evaldata.ReadCLINC(folder)
	if err != nil {
		return nil, err
	}
	all, err := repository(tools)
	for _, one := range said {
		kind, expect := "nothing", []files.Expectation(nil)
		if one.Tool != nil {
			kind, expect = "a tool", []files.Expectation{{Tool: *one.Tool}}
		}
		cases = append(cases, evalCase{kind, saying(one.ID, []evaldata.Message{{Text: one.Text}}, expect...), all})
	}
	return cases, err
}

// sgdNow is the time of all dialogues.
var sgdNow = time.Date(2019, 3, 1, 9, 0, 0, 0, time.UTC)

// casesOf leaves out messages that any call would do for.
func casesOf(said []evaldata.Case, now time.Time, expected func(evaldata.Call) files.Expectation) (cases []evalCase, err error) {
	for _, one := range said {
		if one.AnyCall {
			continue
		}
		tools, err := repository(one.Tools)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.ID, err)
		}
		expect := lists.Map(one.Calls, expected)
		test := saying(one.ID, one.Messages, expect...)
		test.Now = now
		cases = append(cases, evalCase{one.Kind, test, tools})
	}
	return cases, nil
}
