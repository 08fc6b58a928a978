// Command clinic is a client of Earshot that oapi-codegen has written the most of:
//
//	curl -o openapi.json http://127.0.0.1:8080/openapi.json
//	go generate && go run . http://127.0.0.1:8080 "$EARSHOT_ADMIN_KEY"
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
)

//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.json

func main() {
	if len(os.Args) != 3 {
		log.Fatal("give the URL of the service and its admin key")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url, adminKey string) error {
	admin, err := NewClientWithResponses(url, WithRequestEditorFn(bearer(adminKey)))
	if err != nil {
		return err
	}
	key, err := setUp(ctx, admin)
	if err != nil {
		return err
	}
	backEnd, err := NewClientWithResponses(url, WithRequestEditorFn(bearer(key)))
	if err != nil {
		return err
	}
	if err := chat(ctx, backEnd); err != nil {
		return err
	}
	return meetProblems(ctx, backEnd)
}

func bearer(key string) RequestEditorFn {
	return func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
}

// setUp makes the app, its tool, and a key for a back-end.
func setUp(ctx context.Context, admin *ClientWithResponses) (string, error) {
	app, err := admin.PutAppWithResponse(ctx, "clinic-go", nil, App{Name: new("Clinic")})
	if err != nil || app.JSON201 == nil {
		return "", unexpected("app", err, app.Body)
	}
	description, required := "wished day", true
	var parameters Tool_Parameters
	days := []any{"Monday", "Tuesday", "Friday"}
	err = parameters.FromToolParameters0([]ToolboxParameter{{
		Name: "day", Type: "string", Description: description, Required: &required, AllowedValues: &days,
	}})
	if err != nil {
		return "", err
	}
	stored, err := admin.PutAppRepositoryWithResponse(ctx, "clinic-go", "booking", nil, Repository{Tools: &[]Tool{{
		Name: "request-for-appointment", Description: new("User needs an appointment"), Parameters: &parameters,
		Examples: &[]string{"I want an appointment", "Can I come in on Monday?"},
	}}})
	if err != nil || stored.JSON201 == nil {
		return "", unexpected("repository", err, stored.Body)
	}
	made, err := admin.PostKeyWithResponse(ctx, "clinic-go", KeyRequest{Scopes: []KeyRequestScopes{"messages", "triggers"}})
	if err != nil || made.JSON201 == nil {
		return "", unexpected("key", err, made.Body)
	}
	return made.JSON201.Key, nil
}

// chat posts a message and reads what it set off.
func chat(ctx context.Context, backEnd *ClientWithResponses) error {
	said, err := backEnd.PostMessageWithResponse(ctx, "clinic-go", "s1", nil, Message{Actor: "user", Text: "I want an appointment on Friday"})
	if err != nil || said.JSON200 == nil || len(said.JSON200.Matches) != 1 {
		return unexpected("message", err, said.Body)
	}
	fired := said.JSON200.Matches[0]
	listed, err := backEnd.ListTriggersWithResponse(ctx, "clinic-go", nil)
	if err != nil || listed.JSON200 == nil || len(listed.JSON200.Items) != 1 || listed.JSON200.Items[0].TriggerId != fired.TriggerId {
		return unexpected("triggers", err, listed.Body)
	}
	read, err := backEnd.GetTriggerWithResponse(ctx, "clinic-go", fired.TriggerId)
	if err != nil || read.JSON200 == nil || read.JSON200.Values["day"] != "Friday" {
		return unexpected("trigger", err, read.Body)
	}
	fmt.Println("fired", read.JSON200.Name, "on", read.JSON200.Values["day"])
	return nil
}

// meetProblems shows how faults come back.
func meetProblems(ctx context.Context, backEnd *ClientWithResponses) error {
	faulty, err := backEnd.PostMessageWithResponse(ctx, "clinic-go", "s1", nil, Message{Actor: "nobody", Text: " "})
	if err != nil || faulty.ApplicationproblemJSON400 == nil || faulty.ApplicationproblemJSON400.Errors == nil {
		return unexpected("faults", err, faulty.Body)
	}
	for _, fault := range *faulty.ApplicationproblemJSON400.Errors {
		fmt.Println("fault at", fault.Pointer)
	}
	refused, err := backEnd.GetAppWithResponse(ctx, "clinic-go", nil)
	if err != nil || refused.ApplicationproblemJSON403 == nil {
		return unexpected("refusal", err, refused.Body)
	}
	fmt.Println("refused:", refused.ApplicationproblemJSON403.Status)
	return nil
}

func unexpected(what string, err error, body []byte) error {
	return fmt.Errorf("%s: not as it should be: %v %s", what, err, body)
}
