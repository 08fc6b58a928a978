package llm

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func knownInTests(name string) bool { return name == "book" || name == "light" }

func TestTextOfCallsAloneIsRead(t *testing.T) {
	book := toolCall{name: "book", arguments: `{"day":"mon"}`}
	light := toolCall{name: "light", arguments: `{}`}
	for rule, c := range map[string]struct {
		text, rest string
		calls      []toolCall
	}{
		"Hermes":                     {"<tool_call>\n{\"name\": \"book\", \"arguments\": {\"day\": \"mon\"}}\n</tool_call>", "", []toolCall{book}},
		"Hermes, twice":              {"<tool_call>{\"name\":\"book\",\"arguments\":{\"day\":\"mon\"}}</tool_call>\n<tool_call>{\"name\":\"light\",\"arguments\":{}}</tool_call>", "", []toolCall{book, light}},
		"the end mark is missing":    {`<tool_call>{"name":"book","arguments":{"day":"mon"}}`, "", []toolCall{book}},
		"a list between marks":       {`<tool_calls>[{"name":"book","arguments":{"day":"mon"}},{"name":"light","parameters":{}}]</tool_calls>`, "", []toolCall{book, light}},
		"several between marks":      {"<function_call>{\"name\":\"book\",\"arguments\":{\"day\":\"mon\"}}\n{\"name\":\"light\",\"arguments\":{}}</function_call>", "", []toolCall{book, light}},
		"marks with bars":            {`<|tool_call|>{"name":"book","arguments":{"day":"mon"}}<|/tool_call|>`, "", []toolCall{book}},
		"Python's quotes":            {`<tool_call>{'name': 'book', 'arguments': {'day': 'mon'}}</tool_call>`, "", []toolCall{book}},
		"arguments as a string":      {`<tool_call>{"name":"book","arguments":"{\"day\":\"mon\"}"}</tool_call>`, "", []toolCall{book}},
		"Mistral":                    {`[TOOL_CALLS] [{"name":"book","arguments":{"day":"mon"}}]`, "", []toolCall{book}},
		"Mistral, with its name out": {`[TOOL_CALLS]book[ARGS]{"day":"mon"}</s>`, "", []toolCall{{name: "book", arguments: `{"day":"mon"}`}}},
		"Llama":                      {`<function=book>{"day":"mon"}</function>`, "", []toolCall{book}},
		"Llama, cut by a stop":       {`<function=book>{"day":"mon"}`, "", []toolCall{book}},
		"Qwen's coders": {
			"<tool_call>\n<function=book>\n<parameter=day>\nmon\n</parameter>\n<parameter=to>\n[\"a\"]\n</parameter>\n</function>\n</tool_call>", "",
			[]toolCall{{name: "book", arguments: `{"day":"mon","to":["a"]}`}},
		},
		"bare":                        {`{"name":"book","arguments":{"day":"mon"}}`, "", []toolCall{book}},
		"bare, with parameters":       {` {"name": "book", "parameters": {"day": "mon"}} `, "", []toolCall{book}},
		"bare, as a list":             {`[{"name":"book","arguments":{"day":"mon"}},{"name":"light","arguments":{}}]`, "", []toolCall{book, light}},
		"bare, one after the other":   {`{"name":"book","parameters":{"day":"mon"}}; {"name":"light","parameters":{}}`, "", []toolCall{book, light}},
		"bare, in OpenAI's form":      {`{"tool_calls":[{"id":"1","type":"function","function":{"name":"book","arguments":"{\"day\":\"mon\"}"}}]}`, "", []toolCall{book}},
		"bare, with function a name":  {`{"type":"function","function":"light","args":{}}`, "", []toolCall{light}},
		"fenced":                      {"```json\n{\"name\":\"book\",\"arguments\":{\"day\":\"mon\"}}\n```", "", []toolCall{book}},
		"fenced, of another language": {"```tool_call\n[{\"name\":\"light\",\"arguments\":{}}]\n```", "", []toolCall{light}},
		"unknown between marks":       {`<tool_call>{"name":"other","arguments":{}}</tool_call>`, "", []toolCall{{name: "other", arguments: "{}"}}},
		"broken between marks":        {`<tool_call>{"name": "book", "arguments": {"day": "mo</tool_call>`, "", []toolCall{{name: "book", arguments: `{"name": "book", "arguments": {"day": "mo`}}},
		"brackets within texts":       {`<tool_call>{"name":"book","arguments":{"day":"} ] \" {"}}</tool_call>`, "", []toolCall{{name: "book", arguments: `{"day":"} ] \" {"}`}}},
		"fenced, one after the other": {"```\n{\"name\":\"book\",\"arguments\":{\"day\":\"mon\"}}\n{\"name\":\"light\",\"arguments\":{}}\n```", "", []toolCall{book, light}},
		"Mistral, twice":              {`[TOOL_CALLS]book[ARGS]{"day":"mon"}[TOOL_CALLS]light[ARGS]{}`, "", []toolCall{book, light}},
		"many":                        {strings.Repeat(`{"name":"light","arguments":{}}`, 40), "", slices.Repeat([]toolCall{light}, 40)},
		"big integers":                {`{"name":"book","arguments":{"n":9007199254740993}}`, "", []toolCall{{name: "book", arguments: `{"n":9007199254740993}`}}},
	} {
		t.Run(rule, func(t *testing.T) {
			calls, rest := readInText(c.text, knownInTests)
			require.Equal(t, c.calls, calls)
			require.Equal(t, c.rest, rest)
		})
	}
}

func TestTextThatIsNoCallStaysText(t *testing.T) {
	for rule, text := range map[string]string{
		"words":                            "Nothing to do, book or light.",
		"an unknown name":                  `{"name":"other","arguments":{}}`,
		"an unknown name, fenced":          "An example:\n```json\n{\"name\":\"other\",\"arguments\":{}}\n```",
		"a name without arguments":         `{"name":"book"}`,
		"arguments without a name":         `{"arguments":{"day":"mon"}}`,
		"a call within another's data":     `{"name":"other","arguments":{"name":"book","arguments":{"day":"mon"}}}`,
		"a call among things that are not": `[{"name":"book","arguments":{}},{"name":"Ann"}]`,
		"a name that is no text":           `{"name":5,"arguments":{}}`,
		"an object that does not end":      `{"name":"book","arguments":{"day":"mon"}`,
		"emoticons":                        "hi :-{ how are you :]",
		"code":                             "```go\nfunc f() { return }\n```",
		"a refusal":                        `I will not call {"name":"book","arguments":{"day":"mon"}} because that is forbidden.`,
		"a call after words":               `Sure! {"name":"light","arguments":{}}`,
		"words after a call":               `{"name":"light","arguments":{}} is what I would call.`,
		"a marked call after words":        `Ok. <tool_call>{"name":"book","arguments":{"day":"mon"}}</tool_call>`,
		"a marked call, cut, after words":  `Ok <tool_call>{"name":"book","arguments":{"day":"mon"}}`,
		"words after a marked call":        `<tool_call>{"name":"book","arguments":{"day":"mon"}}</tool_call> is the syntax.`,
		"words between marks":              `<tool_call>Not {"name":"book","arguments":{"day":"mon"}}</tool_call>`,
		"words after a call between marks": `<tool_call>{"name":"book","arguments":{}} or not</tool_call>`,
		"words between a function's marks": `<function=light>is what I would call</function>`,
		"a function's marks in words":      `Write <function=light>{}</function>`,
		"words after Mistral's call":       `[TOOL_CALLS]light[ARGS]{} is the syntax`,
		"a quoted mark":                    `> <tool_call>{"name":"book","arguments":{"day":"mon"}}</tool_call>`,
		"a list after words":               `Your requests: [{"name":"book","arguments":{"day":"mon"}}]`,
		"a fenced call after words":        "Sure:\n```json\n{\"name\":\"light\",\"arguments\":{}}\n```\nDone.",
		"words within a fence":             "```\n{\"name\":\"light\",\"arguments\":{}} or {}\n```",
		"a line of a log":                  `{"ts":1,"name":"book","arguments":{"day":"mon"}}`,
		"a line of a log between marks":    `<tool_call>{"ts":1,"name":"book","arguments":{"day":"mon"}}</tool_call>`,
		"a definition":                     `{"name":"book","description":"Book","parameters":{"day":"mon"}}`,
		"a definition without words":       `{"name":"book","parameters":{"type":"object","properties":{"day":{"type":"string"}}}}`,
		"a definition in OpenAI's form":    `{"type":"function","function":{"name":"book","description":"Book","parameters":{}}}`,
		"a definition that is cut":         `<tool_call>{"name":"book","description":"Book","parameters":{"day"`,
		"an answer around calls":           `{"content":"no","tool_calls":[{"name":"light","arguments":{}}]}`,
		"nothing between marks":            `Hi <tool_call></tool_call>`,
		"more calls than an answer has":    strings.Repeat(`<tool_call>{"name":"book","arguments":{}}</tool_call>`, maxCalls+1),
		"more than is read":                strings.Repeat("x", maxInText) + `{"name":"book","arguments":{}}`,
	} {
		t.Run(rule, func(t *testing.T) {
			calls, rest := readInText(text, knownInTests)
			require.Empty(t, calls)
			require.Equal(t, text, rest)
		})
	}
}

func TestReadingCallsInTextIsBounded(t *testing.T) {
	for _, unit := range []string{"{", "[", `{"`, "<tool_call>", "<function=a>", "```{", `{"name":"book","arguments":{}}`} {
		text := strings.Repeat(unit, maxInText/len(unit))
		calls, rest := readInText(text, knownInTests)
		require.LessOrEqual(t, len(calls)+len(rest), len(text), unit)
	}
}

// FuzzReadInText searches for a panic, a call without a name, and a text that changes.
func FuzzReadInText(f *testing.F) {
	for _, seed := range []string{
		`<tool_call>{"name":"book","arguments":{}}</tool_call>`, `[TOOL_CALLS]book[ARGS]{}`, `<function=book><parameter=a>1</parameter></function>`,
		"```json\n{\"name\":\"light\",\"arguments\":{}}\n```", `x {"name":"book","arguments":{"a":"b"}} y`, `<think>a</think>b`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		said := withoutThoughts(text)
		calls, rest := readInText(said, knownInTests)
		for _, call := range calls {
			require.NotEmpty(t, call.name)
		}
		if len(calls) > 0 {
			said = ""
		}
		require.Equal(t, said, rest)
	})
}
