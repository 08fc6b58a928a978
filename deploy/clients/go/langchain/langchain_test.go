package langchain_test

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/fake"
	"github.com/tmc/langchaingo/schema"
	"github.com/tmc/langchaingo/tools"

	earshot "earshot/deploy/clients/go"
	"earshot/deploy/clients/go/langchain"
)

// TestMain runs the examples where there is a service, which EARSHOT_URL names: an earshot dev.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("EARSHOT_URL") == "" {
		fmt.Println("EARSHOT_URL names no service: EARSHOT_URL=http://127.0.0.1:8080 go test ./... beside an earshot dev")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// weather is what was written for a model: two parameters, of which one is an enumeration.
var weather = []llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{
	Name: "get_current_weather", Description: "Get the current weather in a given location", Strict: true,
	Parameters: map[string]any{
		"type": "object", "required": []string{"location"}, "properties": map[string]any{
			"location": map[string]any{"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
			"unit":     map[string]any{"type": "string", "enum": []string{"celsius", "fahrenheit"}},
		},
	},
}}}

func app(ctx context.Context, id string) *earshot.App {
	client, err := earshot.FromEnvironment()
	if err != nil {
		log.Fatal(err)
	}
	app := client.App(id)
	_ = app.Delete(ctx) // of an earlier run
	if _, err := app.Put(ctx, earshot.AppDefinition{}); err != nil {
		log.Fatal(err)
	}
	_, err = app.PutRepository(ctx, earshot.Repository{RepositoryID: "weather", Tools: langchain.FromDefinitions(weather)})
	if err != nil {
		log.Fatal(err)
	}
	return app
}

// A model is offered the tools in scope, and what it calls is fired.
func ExampleRespond() {
	ctx := context.Background()
	inScope, err := app(ctx, "go-respond").AgentTools(ctx)
	if err != nil {
		log.Fatal(err)
	}
	definitions := langchain.Definitions(inScope) // model.GenerateContent(ctx, messages, llms.WithTools(definitions))
	fmt.Println(definitions[0].Type, definitions[0].Function.Name, definitions[0].Function.Parameters.(map[string]any)["required"])

	// This is what the model would answer.
	choice := &llms.ContentChoice{ToolCalls: []llms.ToolCall{
		{ID: "call_1", Type: "function", FunctionCall: &llms.FunctionCall{Name: "get_current_weather", Arguments: `{"location": "San Francisco, CA"}`}},
		{ID: "call_2", Type: "function", FunctionCall: &llms.FunctionCall{Name: "get_current_weather", Arguments: `{"unit": "celsius"}`}},
	}}
	messages, err := langchain.Respond(ctx, inScope, choice)
	if err != nil {
		log.Fatal(err)
	}
	for _, message := range messages[1:] {
		response := message.Parts[0].(llms.ToolCallResponse)
		fmt.Println(message.Role, response.ToolCallID, response.Content)
	}
	// Output:
	// function get_current_weather [location]
	// tool call_1 Done.
	// tool call_2 Not done: location: is required.
}

// An agent of langchaingo, whose tools take one text, calls one with two parameters.
func ExampleTools() {
	ctx := context.Background()
	weather := app(ctx, "go-agents")
	inScope, err := weather.AgentTools(ctx)
	if err != nil {
		log.Fatal(err)
	}
	model := fake.NewFakeLLM([]string{ // in the place of a model
		"Thought: I need the weather.\nAction: get_current_weather\nAction Input: {\"location\": \"Bonn\", \"unit\": \"kelvin\"}",
		"Thought: That unit will not do.\nAction: get_current_weather\nAction Input: {\"location\": \"Bonn\", \"unit\": \"celsius\"}",
		"Thought: I know it.\nFinal Answer: it is done",
	})
	agent := agents.NewOneShotAgent(model, langchain.Tools(inScope))
	said, err := chains.Run(ctx, agents.NewExecutor(agent), "What is the weather in Bonn?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(said)
	for record, err := range weather.Triggers(ctx, earshot.Search{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(record.Source, record.Name, record.Values["location"], record.Values["unit"])
	}
	// Output:
	// it is done
	// agent get_current_weather Bonn celsius
}

type shout struct{}

func (shout) Name() string        { return "shout" }
func (shout) Description() string { return "Say something loudly" }
func (shout) Call(_ context.Context, input string) (string, error) {
	return strings.ToUpper(input), nil
}

// A tool of langchaingo that this program has becomes a tool of Earshot.
func ExampleHandlers() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	app := app(ctx, "go-handlers")
	_, err := app.PutRepository(ctx, earshot.Repository{RepositoryID: "voice", Tools: []earshot.Tool{langchain.FromTool(shout{}, 30*time.Second)}})
	if err != nil {
		log.Fatal(err)
	}
	go func() { _ = app.Serve(ctx, "0", langchain.Handlers(shout{})) }()

	match, err := app.Fire(ctx, earshot.Direct{Name: "shout", Values: earshot.Values{"input": "hello"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(match.Told())
	// Output: HELLO
}

func TestHandlersGiveAToolAllValuesWhereItHasMoreThanOne(t *testing.T) {
	handler := langchain.Handlers(tools.Tool(shout{}))["shout"]
	for _, test := range []struct {
		values earshot.Values
		want   string
	}{
		{earshot.Values{"input": "a"}, "A"},
		{earshot.Values{"input": 5}, `{"INPUT":5}`},
		{earshot.Values{"input": "a", "day": "b"}, `{"DAY":"B","INPUT":"A"}`},
	} {
		got, err := handler(t.Context(), test.values, earshot.Payload{})
		if err != nil || got != test.want {
			t.Fatalf("%v: %v %v", test.values, got, err)
		}
	}
}

func TestThePageNamesEveryFieldThatToolsHaveThere(t *testing.T) {
	page, err := os.ReadFile("../../../docs/from-langchaingo.md")
	if err != nil {
		t.Skip("this is a copy of the module alone")
	}
	for _, of := range []any{
		llms.Tool{}, llms.FunctionDefinition{}, llms.ToolCall{}, llms.FunctionCall{}, llms.ToolCallResponse{}, llms.ToolChoice{}, llms.FunctionReference{},
		schema.AgentAction{}, schema.AgentStep{}, schema.AgentFinish{},
	} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if !regexp.MustCompile("[`.]"+field.Name+"\\b").Match(page) && !strings.Contains(string(page), reflect.TypeOf(of).Name()+"`") {
				t.Errorf("%T.%s is not on the page", of, field.Name)
			}
		}
	}
}
