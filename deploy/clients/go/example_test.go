package earshot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	earshot "earshot/deploy/clients/go"
)

// An app with a tool, and a user who calls for it.
func Example() {
	ctx := context.Background()
	client, err := earshot.FromEnvironment()
	if err != nil {
		log.Fatal(err)
	}
	app := client.App("go-example")
	if _, err := app.Put(ctx, earshot.AppDefinition{Name: "Clinic"}); err != nil {
		log.Fatal(err)
	}
	_, err = app.PutRepository(ctx, earshot.Repository{RepositoryID: "desk", Tools: []earshot.Tool{{
		Name: "book", Description: "Book an appointment", Examples: []string{"I want an appointment on Friday"},
		Parameters: []earshot.Parameter{{Name: "day", Type: "string", Description: "wished day", AllowedValues: []any{"Monday", "Friday"}}},
	}}})
	if err != nil {
		log.Fatal(err)
	}

	answer, err := app.Session("s1").Say(ctx, "I want an appointment on Friday")
	if err != nil {
		log.Fatal(err)
	}
	for _, match := range answer.Matches {
		var values struct{ Day string }
		if err := match.Values.Into(&values); err != nil {
			log.Fatal(err)
		}
		fmt.Println(match.Name, values.Day)
	}
	// Output: book Friday
}

// appWith makes an app with tools.
func appWith(ctx context.Context, id string, tools ...earshot.Tool) *earshot.App {
	client, err := earshot.FromEnvironment()
	if err != nil {
		log.Fatal(err)
	}
	app := client.App(id)
	if _, err := app.Put(ctx, earshot.AppDefinition{}); err != nil {
		log.Fatal(err)
	}
	if _, err := app.PutTools(ctx, "tools", tools...); err != nil {
		log.Fatal(err)
	}
	return app
}

// What the service refuses says all that is wrong, and where.
func ExampleProblem() {
	ctx := context.Background()
	client, err := earshot.FromEnvironment()
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.App("go-example").Put(ctx, earshot.AppDefinition{Settings: &earshot.Settings{LLM: &earshot.LLM{Tools: "gpt-4o"}}})
	var problem *earshot.Problem
	if errors.As(err, &problem) {
		for _, fault := range problem.Errors {
			fmt.Println(problem.Status, fault.Pointer, fault.Detail)
		}
	}
	fmt.Println(errors.Is(err, earshot.ErrInvalid))
	// Output:
	// 400 /settings/llm/tools "gpt-4o" is not provider/model, as in openai/gpt-4o-mini
	// true
}

// The tools in scope as the tools of a request to OpenAI, defined as for OpenAI.
func ExampleFunctions() {
	ctx := context.Background()
	app := appWith(ctx, "go-weather", earshot.NewTool(earshot.Function{
		Name: "get_current_weather", Description: "Get the current weather in a given location",
		Parameters: json.RawMessage(`{"type":"object","required":["location"],"properties":{
			"location":{"type":"string","description":"The city and state, e.g. San Francisco, CA"},
			"unit":{"type":"string","enum":["celsius","fahrenheit"]}}}`),
	}))
	tools, err := app.AgentTools(ctx)
	if err != nil {
		log.Fatal(err)
	}
	list, err := json.Marshal(map[string]any{"model": "gpt-4o", "tools": earshot.Functions(tools)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.97s…\n", list)

	// The model answers with tool_calls: their arguments go to the tool as they are.
	told, err := earshot.CallTool(ctx, tools, "get_current_weather", `{"location":"San Francisco, CA","unit":"Fahrenheit"}`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(told)
	// Output:
	// {"model":"gpt-4o","tools":[{"type":"function","function":{"name":"get_current_weather","descripti…
	// Not done: unit: "Fahrenheit" is not one of "celsius", "fahrenheit".
}

// Events of a session, from before the first of them.
func ExampleApp_Follow() {
	ctx := context.Background()
	session := appWith(ctx, "go-follow", earshot.Tool{Name: "ring"}).Session("s1")
	followed, err := session.Follow(ctx, "") // what fires from here on is not missed
	if err != nil {
		log.Fatal(err)
	}
	defer followed.Close()
	if _, err := session.Fire(ctx, earshot.Direct{Name: "ring", Source: "ui"}); err != nil {
		log.Fatal(err)
	}
	for event, err := range followed.All() {
		if err != nil {
			log.Fatal(err)
		}
		if event.Kind != "tool.trigger" {
			continue
		}
		payload, err := event.Payload()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Kind, payload.Name, payload.Source)
		break
	}
	// Output: tool.trigger ring ui
}

// A function of this program as a tool: a trigger of it waits for what it returns.
func ExampleApp_Serve() {
	ctx, stop := context.WithCancel(context.Background())
	app := appWith(ctx, "go-serve", earshot.Tool{
		Name: "double", Description: "Double a number", Answer: &earshot.AnswerWithin{Within: earshot.Duration(30e9)},
		Parameters: []earshot.Parameter{{Name: "n", Type: "integer", Description: "the number"}},
	})
	served := make(chan error)
	go func() {
		served <- app.Serve(ctx, "0", map[string]earshot.Handler{
			"double": func(_ context.Context, values earshot.Values, _ earshot.Payload) (any, error) {
				var said struct{ N int }
				err := values.Into(&said)
				return 2 * said.N, err
			},
		})
	}()

	match, err := app.Fire(ctx, earshot.Direct{Name: "double", Values: map[string]int{"n": 21}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(match.Told())
	stop()
	fmt.Println(<-served)
	// Output:
	// 42
	// context canceled
}
