package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"earshot/repositories/annotations"
	"earshot/repositories/exactjson"
	"earshot/repositories/plaintext"
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
	if given := valueAt(tools[at], []string{"examples"}); len(given) > 0 {
		if err := json.Unmarshal(given, &examples); err != nil {
			return "", false, err
		}
	}
	known = slices.ContainsFunc(examples, func(given string) bool { return annotations.Plain(given) == annotations.Plain(example) })
	tools[at] = with(tools[at], exactjson.EncodeOrNull(append(examples, example)), "examples")
	return string(with(object, listOf(tools), "tools")), known, nil
}
