package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/repositories/annotations"
	"earshot/repositories/exactjson"
	"earshot/repositories/plaintext"
	"earshot/trigger/explain"
	"earshot/trigger/query"
	"earshot/trigger/scope"
)

// exampleBody is the body of the page on which a message becomes an example of a tool.
type exampleBody struct {
	Session, Message  string
	Repository, Tool  string
	Text              string // of the message
	Example           string // with values marked
	Parameters        []string
	Others            []toolChoice
	Rehearsal         rehearsal
	Fault             *problem
	Known             bool // the tool has this example already
	revision, changed string
}

// toolChoice is a tool that a message may be an example of.
type toolChoice struct{ Repository, Name string }

// Value returns the tool as a form value.
func (t toolChoice) Value() string { return t.Repository + "/" + t.Name }

// choices lists the tools of the app that a message may be an example of.
func (v *pageRequest) choices(session string) (all []toolChoice, err error) {
	var found list[scope.Tool]
	err = v.get(owner(v.app(), session)+"/tools?limit=200", &found)
	if refused(err, http.StatusForbidden) != nil {
		return nil, nil
	}
	for _, one := range found.Items {
		all = append(all, toolChoice{one.RepositoryID, one.Name})
	}
	return all, err
}

// examplePage rehearses a message as an example; a POST with do=save stores it.
func examplePage(v *pageRequest) error {
	asked := v.r.URL.Query()
	if v.r.Method == http.MethodPost {
		asked = v.r.PostForm
	}
	shown, err := v.exampleBody(asked)
	if err != nil {
		return err
	}
	if asked.Get("do") == "save" && shown.changed != "" {
		request, err := v.restRequest(http.MethodPut, v1("apps", v.app(), "repositories", shown.Repository), []byte(shown.changed))
		if err != nil {
			return err
		}
		request.Header.Set("If-Match", shown.revision) // it must not have changed since it was read
		if _, err = v.answered(request); err == nil {
			return v.redirect(link("apps", v.app(), "sessions", shown.Session) + "?message=" + url.QueryEscape(shown.Message) + "&saved=" + url.QueryEscape(shown.Tool) + "#why")
		}
		if refused(err, http.StatusUnauthorized) != nil {
			return err
		}
		shown.Fault = problemOf(err)
		return v.renderStatus(shown.Fault.Status, "mend", shown.Tool, shown)
	}
	if shown.changed != "" {
		shown.Rehearsal, err = v.rehearsed(map[string]any{"tests": true, "repositories": map[string]any{
			shown.Repository: map[string]any{"definition": json.RawMessage(shown.changed)},
		}})
		if err != nil {
			return err
		}
	}
	return v.render("mend", shown.Tool, shown)
}

// exampleBody reads the message and the tool, and adds the example to the definition.
func (v *pageRequest) exampleBody(asked url.Values) (exampleBody, error) {
	shown := exampleBody{Session: v.session(), Message: v.r.PathValue("message"), Example: strings.TrimSpace(asked.Get("example"))}
	shown.Repository, shown.Tool, _ = strings.Cut(asked.Get("of"), "/")
	var said query.Entry
	if err := v.get(v1("apps", v.app(), "sessions", shown.Session, "messages", shown.Message), &said); err != nil {
		return shown, err
	}
	shown.Text = said.Text
	if shown.Example == "" {
		shown.Example = strings.ReplaceAll(plaintext.Text(said.Text), "[", `\[`)
	}
	var err error
	if shown.Others, err = v.choices(""); err != nil {
		return shown, err
	}
	if shown.Tool == "" {
		return shown, nil
	}
	got, err := v.record(http.MethodGet, v1("apps", v.app(), "repositories", shown.Repository), nil)
	if err != nil {
		return shown, err
	}
	shown.revision = got.Header().Get("ETag")
	var found list[scope.Tool]
	if err := v.get(owner(v.app(), "")+"/tools?name="+url.QueryEscape(shown.Tool), &found); err != nil {
		return shown, err
	}
	for _, one := range found.Items {
		var schema struct {
			Properties json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(one.InputSchema, &schema); err != nil {
			return shown, err
		}
		if shown.Parameters, _, err = membersOf(schema.Properties); err != nil {
			return shown, err
		}
	}
	shown.changed, shown.Known, err = withExample(got.Body.Bytes(), shown.Tool, shown.Example)
	return shown, err
}

// answeredOnly lists the members of a repository that a PUT may not have.
var answeredOnly = []string{"appId", "repositoryId", "created", "updated", "notes"}

// withExample turns a repository, as REST returns it, into the body of a PUT that adds an example to a
// tool. Members keep their order, which matters to models. known reports that the tool already has the
// example.
func withExample(stored []byte, tool, example string) (body string, known bool, err error) {
	names, members, err := membersOf(stored)
	if err != nil {
		return "", false, err
	}
	object := objectOf(slices.DeleteFunc(names, func(name string) bool { return slices.Contains(answeredOnly, name) }), members)
	tools := membersOfList(members["tools"])
	at := slices.IndexFunc(tools, func(one json.RawMessage) bool { return textAt(one, "name") == tool })
	if at < 0 {
		return "", false, &problem{Status: http.StatusNotFound, Title: "No such tool", Detail: "the repository has no tool of this name any more"}
	}
	var examples []string
	if given := valueAt(tools[at], "examples"); len(given) > 0 {
		if err := json.Unmarshal(given, &examples); err != nil {
			return "", false, err
		}
	}
	known = slices.ContainsFunc(examples, func(given string) bool { return annotations.Plain(given) == annotations.Plain(example) })
	tools[at] = with(tools[at], exactjson.EncodeOrNull(append(examples, example)), "examples")
	return string(with(object, listOf(tools), "tools")), known, nil
}

// advised maps a reason why nothing fired to what to do about it.
type advised struct {
	says string // words of Explanation.Why
	do   string
}

// advice is the table of deploy/docs/why.md, "What to do". The first match counts.
var advice = []advised{
	{"no tool is in scope", "Add a tool to this session or to the app. Under “Not in scope” are tools that need a verified user, or that another of their name hides."},
	{"asks for something else by", "That is right where the user wants something else. Is a tool missing that undoes or alters? Or is this word meant for the tool: then add the sentence as an example."},
	{"not sure enough of the nearest tool", "Add the sentence as an example of the tool that is meant. Or set offline.bar of the app to likely, for all tools."},
	{"knows nothing of what the message is about", "Add the sentence as an example of the tool that is meant, or add the tool that is missing."},
	{"next to nothing in common", "Add the sentence as an example of the tool that is meant, or add the tool that is missing."},
	{"two tools are as near to the message as each other", "These tools share their words. Give each examples of its own: add the sentence to the one that is meant."},
	{"names a thing that another tool is for", "These tools share their words. Give each examples of its own: add the sentence to the one that is meant."},
	{"has no place for", "Give the tool a parameter for what was said. Without one it is right that nothing fires."},
	{"and not what is to be done", "Where this word alone should fire the tool, add it as an example."},
	{"makes a condition", "That is right: the user continues."},
	{"tells of the past", "That is right: the user continues."},
	{"tells of somebody else", "That is right. Where such a sentence is meant, add it as an example."},
	{"breaks off", "That is right: the user continues."},
	{"names nothing that it is to be done to", "Where the sentence is enough for you, add it as an example of the tool that is meant. Else the user continues."},
	{"asks or tells, and does not call for", "Add the sentence as an example, as it is a question; or let the tool's description say that it informs."},
	{"and does not order it", "That is right, unless such words order it: then add the sentence as an example of the tool."},
	{"asks whether it may be done", "That is right: the user asks first. A tool that informs could answer."},
	{"is a plain no to what", "That is right: the user was asked, and refused."},
	{"calls for no tool by itself", "That is right: it answers a question, and no tool waited for that."},
	{"does not want what the nearest tool does", "That is right. Is a tool missing that undoes it?"},
	{"its values are not valid", "Each call below says which value was missing, or which rule it broke. Words that stand for a value are marked in an example."},
	{"is exclusive", "The rules of repositories decided: another tool came first."},
	{"fires once", "The rules of repositories decided: another tool came first."},
	{"was dropped", "Each call below says why: a model called what is not in scope, or its call could not be read."},
	{"no tool was called for", "The model answered otherwise: its request and its answer are below. Is the tool among those that it was shown?"},
}

// adviceOn returns what to do about a message that fired nothing; empty if it fired or the reason is
// unknown.
func adviceOn(of *explain.Explanation) string {
	for _, call := range of.Calls {
		if call.Verdict == explain.Fired {
			return ""
		}
	}
	for _, one := range advice {
		if strings.Contains(of.Why, one.says) {
			return one.do
		}
	}
	return ""
}

// compared describes what the message was compared with.
func compared(of *explain.Explanation) string {
	count := len(of.Candidates) + of.More
	tools := fmt.Sprintf("%d tools", count)
	if count == 1 {
		tools = "one tool"
	}
	switch of.Stage {
	case matcher.StageExact:
		return "The text was compared with the names, descriptions and examples of " + tools + ", and equals one of them."
	case matcher.StageOffline:
		return "The words were compared with the names, descriptions and examples of " + tools + ". No model was asked."
	case matcher.StageLLM:
		shown := 0
		for _, one := range of.Candidates {
			if !one.Cut {
				shown++
			}
		}
		return fmt.Sprintf("The model was shown %d of %s and the conversation, and was asked which to call.", shown+of.More, tools)
	}
	return "There was no tool that the message could be compared with."
}
