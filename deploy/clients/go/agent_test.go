package earshot_test

import (
	"encoding/json"
	"testing"

	earshot "earshot/deploy/clients/go"
)

func TestAToolTakesWhatModelsWrite(t *testing.T) {
	app := clinic(t, service(t), "go-agent")
	_, err := app.PatchRepository(t.Context(), earshot.Repository{RepositoryID: "desk", Tools: []earshot.Tool{
		{Name: "ring"},
		earshot.NewTool(earshot.Function{Name: "move", Description: "Move an appointment.", Parameters: map[string]any{
			"type": "object", "required": []string{"from"},
			"properties": map[string]any{"from": map[string]string{"type": "string"}, "hours": map[string]string{"type": "integer"}},
		}}),
	}})
	must(t, err)
	agent := got(app.Session("s1").AgentTools(t.Context()))(t)
	equal(t, "book,move,ring", agent[0].Name()+","+agent[1].Name()+","+agent[2].Name())
	equal(t, "Book an appointment. The input is the day: wished day.", agent[0].Description())
	equal(t, "It takes no input: write {}.", agent[2].Description())
	equal(t, "Move an appointment. The input is a JSON object of this JSON Schema: "+string(agent[1].Schema()), agent[1].Description())
	for _, test := range []struct {
		tool         int
		input, want  string
		wantedValues string
	}{
		{0, `{"day":"Friday"}`, "Done.", `{"day":"Friday"}`},
		{0, ` Friday `, "Done.", `{"day":"Friday"}`},
		{0, `"Friday"`, "Done.", `{"day":"Friday"}`},
		{0, `{"__arg1":"Friday"}`, "Done.", `{"day":"Friday"}`},
		{0, `{"__arg1":"{\"day\":\"Monday\"}"}`, "Done.", `{"day":"Monday"}`},
		{0, ``, "Not done: day: is required.", ""},
		{0, `Sunday`, `Not done: day: "Sunday" is not an allowed value; allowed: "Monday", "Friday".`, ""},
		{2, ``, "Done.", `{}`},
		{2, `none`, "Done.", `{}`},
		{1, "```json\n{\"from\":\"Friday\",\"hours\":9007199254740993}\n```", "Done.", `{"from":"Friday","hours":9007199254740993}`},
		{1, `from Friday`, "Not done: the input is no JSON object of this JSON Schema: " + string(agent[1].Schema()), ""},
		{1, `{"from":"Friday","ours":2}`, `Not done: ours: is not a parameter of the tool; did you mean "hours"?.`, ""},
	} {
		told := got(agent[test.tool].Call(t.Context(), test.input))(t)
		equal(t, test.want, told)
		if test.wantedValues != "" {
			equal(t, test.wantedValues, newest(t, app))
		}
	}
	must(t, app.DeleteTool(t.Context(), "desk", "ring"))
	told := got(agent[2].Call(t.Context(), "{}"))(t)
	equal(t, "Not done: this tool is not there any more. Do not call it again.", told)
	told = got(earshot.CallTool(t.Context(), agent, "fly", "{}"))(t)
	equal(t, `There is no tool "fly". Do not call it.`, told)
}

// newest are the values of the trigger that fired last.
func newest(t *testing.T, app *earshot.App) string {
	t.Helper()
	for record, err := range app.Triggers(t.Context(), earshot.Search{PageSize: 1}) {
		must(t, err)
		return text(t, record.Values)
	}
	t.Fatal("nothing fired")
	return ""
}

func TestWhatAModelIsToldOfATrigger(t *testing.T) {
	for match, want := range map[string]string{
		`{}`: "Done.",
		`{"state":"confirming","question":"Really?"}`:                      "Not done yet: the user is asked first. Really?",
		`{"state":"cancelled"}`:                                            "Not done: it was cancelled.",
		`{"call":{"state":"delivered"}}`:                                   "Done.",
		`{"call":{"state":"delivered","result":"at nine"}}`:                "at nine",
		`{"call":{"state":"delivered","result":{"n":9007199254740993}}}`:   `{"n":9007199254740993}`,
		`{"call":{"state":"failed","reason":"timeout","error":"silence"}}`: "Failed: timeout silence",
		`{"call":{"state":"pending"}}`:                                     "Under way: it will be done, and its result is not there yet.",
	} {
		var of earshot.Match
		must(t, json.Unmarshal([]byte(match), &of))
		equal(t, want, of.Told())
	}
}
