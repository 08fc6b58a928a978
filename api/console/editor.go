package console

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"earshot/repositories/exactjson"
)

// editor is the body of a repository's page. Both views, the form of one tool and the JSON, edit Text.
type editor struct {
	Session, ID string
	Text        string // as it would be saved
	Was         string // digest of the stored definition
	New         bool
	Saved       bool
	JSON        bool // the view
	Tools       []toolLine
	At          int       // index of the tool in the form
	Tool        *toolForm // nil for none
	Options     []formField
	Fault       *problem
	Places      []flawPlace
	Preview     *repositoryPreview
	Lines       []changedLine // the diff of saving

	stored string // text of the stored definition
}

type toolLine struct{ Name, Description string }

// repositoryPreview is the effect of saving, and the tools as a model sees them.
type repositoryPreview struct {
	Operation string      `json:"operation"`
	Notes     []string    `json:"notes"`
	Tools     []shownTool `json:"tools"`
	Shown     *shownTool  `json:"-"` // the tool in the form
}

type shownTool struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	InputSchema json.RawMessage   `json:"inputSchema"`
	Asks        map[string]string `json:"asks"`
}

// Function returns the tool as a model sees it.
func (t shownTool) Function() any {
	return struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}{t.Name, t.Description, t.InputSchema}
}

// blank is the initial definition of a new repository.
const blank = `{
  "options": {"triggerOnce": false, "exclusive": false},
  "tools": [
    {
      "name": "request-for-appointment",
      "description": "User needs an appointment",
      "schema": [
        {"parameter": "date", "type": "string", "description": "wished day", "required": true}
      ],
      "examples": ["I want an appointment", "Can I come on Monday?"]
    }
  ]
}`

func editorPage(v *pageRequest) error {
	shown, err := v.stored()
	if err != nil {
		return err
	}
	asked := v.r.URL.Query()
	shown.Saved, shown.JSON = asked.Has("saved"), asked.Get("view") == "json"
	return v.showEditor(http.StatusOK, shown, asked.Get("tool"))
}

// showEditor shows the text in its view, with the effect of saving it. tool is an index or a name; the
// first tool if it is neither.
func (v *pageRequest) showEditor(status int, shown editor, tool string) error {
	object := json.RawMessage(shown.Text)
	if !json.Valid(object) {
		shown.JSON = true
	}
	tools := membersOfList(valueAt(object, "tools"))
	for i, one := range tools {
		line := toolLine{textAt(one, "name"), textAt(one, "description")}
		shown.Tools = append(shown.Tools, line)
		if line.Name == tool {
			shown.At = i
		}
	}
	if i, err := strconv.Atoi(tool); err == nil {
		shown.At = max(min(i, len(tools)-1), 0)
	}
	if len(tools) > 0 && !shown.JSON {
		shown.Tool = newToolForm(shown.At, tools[shown.At])
		if v.r.PostForm.Get("do") == "add" {
			shown.Tool.Parameters.Rows = append(shown.Tool.Parameters.Rows, parameterRow{Type: "string"})
		}
	}
	for _, path := range optionFields {
		shown.Options = append(shown.Options, newField("Repository", path, object))
	}
	if shown.Fault == nil {
		var err error
		shown.Preview = &repositoryPreview{}
		err = v.call(http.MethodPut, v.repositoryPath()+"?dryRun=true", []byte(shown.Text), shown.Preview)
		if err != nil && refused(err, http.StatusForbidden) == nil {
			shown.Fault = problemOf(err)
			shown.Places = placed(shown.Fault.Errors, shown.Text)
		}
	}
	if p := shown.Preview; p != nil && shown.Tool != nil && shown.At < len(p.Tools) {
		p.Shown = &p.Tools[shown.At]
	}
	if shown.Fault != nil && shown.Tool != nil {
		shown.Tool.addFaults(shown.Fault.Errors)
		for i := range shown.Places {
			shown.Places[i].Line = 0 // the JSON is not visible
		}
	}
	text := shown.Text
	if json.Valid(object) { // layout does not count
		text = laidOut(object, "", 2)
	}
	var err error
	if shown.Lines, err = changesOf(shown.stored, text+"\n"); err != nil {
		return err
	}
	return v.renderStatus(status, "editor", shown.ID, shown)
}

// stored reads the repository of the path. A missing one is new.
func (v *pageRequest) stored() (editor, error) {
	shown := editor{Session: v.session(), ID: v.r.PathValue("repository")}
	var found authored
	err := v.get(v.repositoryPath(), &found)
	if refused(err, http.StatusNotFound) != nil {
		if err := v.get(owner(v.app(), "")+"/repositories?limit=1", nil); err != nil {
			return shown, err // the app is missing
		}
		shown.New, shown.Text = true, blank
		return shown, nil
	}
	if err != nil {
		return shown, err
	}
	text, err := exactjson.Encode(found)
	if err != nil {
		return shown, err
	}
	shown.Text = laidOut(text, "", 2)
	shown.stored = shown.Text + "\n"
	sum := sha256.Sum256([]byte(shown.Text))
	shown.Was = base64.RawURLEncoding.EncodeToString(sum[:])
	return shown, nil
}

func (v *pageRequest) repositoryPath() string {
	return owner(v.app(), v.session()) + "/repositories/" + url.QueryEscape(v.r.PathValue("repository"))
}

// saveRepository does what the form asks: it switches the view, the tool or the parameters, saves the text,
// or deletes the repository. It does not overwrite a change that the person has not seen.
func saveRepository(v *pageRequest) error {
	form := v.r.PostForm
	now, err := v.stored()
	if err != nil {
		return err
	}
	do, which, _ := strings.Cut(form.Get("do"), ":")
	if do == "delete" {
		if err := v.call(http.MethodDelete, v.repositoryPath(), nil, nil); err != nil {
			return err
		}
		return v.redirect(link("apps", v.app(), "tools") + "?session=" + url.QueryEscape(v.session()))
	}
	tool := cmp.Or(form.Get("tool"), "0")
	now.Text, now.JSON = filledIn(editedText(form), form), form.Get("view") == "json"
	if do != "save" {
		switch do {
		case "view":
			now.JSON = which == "json"
		case "tool":
			tool = which
		case "add-tool", "drop-tool":
			object := json.RawMessage(now.Text)
			tools := membersOfList(valueAt(object, "tools"))
			at := len(tools)
			if do == "add-tool" {
				tools = append(tools, json.RawMessage(`{"name":""}`))
			} else if i, err := strconv.Atoi(which); err == nil && i >= 0 && i < len(tools) {
				at, tools = max(i-1, 0), slices.Delete(tools, i, i+1)
			}
			now.Text, tool = laidOut(with(object, listOf(tools), "tools"), "", 2), strconv.Itoa(at)
		}
		now.Was = form.Get("was") // the last state that the person saw
		return v.showEditor(http.StatusOK, now, tool)
	}
	if now.Was != form.Get("was") {
		now.Fault = &problem{
			Status: http.StatusConflict, Title: "Somebody changed it meanwhile",
			Detail: "what you wrote is below and not saved; saving again writes over what is stored now",
		}
		return v.showEditor(http.StatusConflict, now, tool)
	}
	if err := v.call(http.MethodPut, v.repositoryPath(), []byte(now.Text), nil); err != nil {
		now.Fault = problemOf(err)
		now.Places = placed(now.Fault.Errors, now.Text)
		return v.showEditor(now.Fault.Status, now, tool)
	}
	to := repositoryLink(v.app(), v.session(), now.ID) + "?saved&tool=" + url.QueryEscape(tool)
	if now.JSON {
		to += "&view=json"
	}
	return v.redirect(to)
}

// filledIn returns the text with the changes of a tool's form.
func filledIn(text string, form url.Values) string {
	if form.Get("view") == "json" || !json.Valid([]byte(text)) {
		return text
	}
	object := json.RawMessage(text)
	for _, path := range optionFields {
		object = newField("Repository", path, object).into(object, form, "o."+path)
	}
	tools := membersOfList(valueAt(object, "tools"))
	if at, err := strconv.Atoi(form.Get("tool")); err == nil && at >= 0 && at < len(tools) {
		if next := newToolForm(at, tools[at]).into(tools[at], form); !bytes.Equal(next, tools[at]) {
			tools[at] = next
			object = with(object, listOf(tools), "tools")
		}
	}
	return laidOut(object, "", 2)
}
