package console

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"earshot/repositories/exactjson"
)

// editor is what the page of a repository shows: its definition to be changed.
type editor struct {
	Session, ID string
	Text        string
	Was         string // digest of the definition that the text was made of
	New         bool
	Saved       bool
	Tools       []string
	Fault       *problem
	Places      []flawPlace
}

// blank is the definition that an author of tools begins with.
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

func editorPage(v *visit) error {
	shown, err := v.stored()
	if err != nil {
		return err
	}
	shown.Saved = v.r.URL.Query().Has("saved")
	return v.showEditor(http.StatusOK, shown)
}

func (v *visit) showEditor(status int, shown editor) error {
	return v.renderStatus(status, "editor", shown.ID, shown)
}

// definition is what of a repository people write.
type definition struct {
	Options json.RawMessage `json:"options,omitempty"`
	Tools   json.RawMessage `json:"tools"`
}

// stored reads the repository of the path as it is now. One that is not there is new.
func (v *visit) stored() (editor, error) {
	shown := editor{Session: v.session(), ID: v.r.PathValue("repository")}
	var found definition
	err := v.get(v.repositoryPath(), &found)
	var missing *problem
	if errors.As(err, &missing) && missing.Status == http.StatusNotFound {
		if err := v.get(owner(v.app(), "")+"/repositories?limit=1", nil); err != nil {
			return shown, err // it is the app that is missing
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
	shown.Was = digest(shown.Text)
	var tools []struct{ Name string }
	err = json.Unmarshal(found.Tools, &tools)
	for _, one := range tools {
		shown.Tools = append(shown.Tools, one.Name)
	}
	return shown, err
}

func (v *visit) repositoryPath() string {
	return owner(v.app(), v.session()) + "/repositories/" + url.QueryEscape(v.r.PathValue("repository"))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// saveRepository stores what was written, or removes the repository. What somebody else has
// changed meanwhile is not written over unseen.
func saveRepository(v *visit) error {
	if err := v.r.ParseForm(); err != nil {
		return err
	}
	form := v.r.PostForm
	now, err := v.stored()
	if err != nil {
		return err
	}
	if form.Get("do") == "remove" {
		if err := v.call(http.MethodDelete, v.repositoryPath(), nil, nil); err != nil {
			return err
		}
		v.redirect(link("apps", v.app(), "tools") + "?session=" + url.QueryEscape(v.session()))
		return nil
	}
	text := editedText(v)
	if now.Was != form.Get("was") {
		now.Text, now.Fault = text, changedMeanwhile()
		return v.showEditor(http.StatusConflict, now)
	}
	if err := v.call(http.MethodPut, v.repositoryPath(), []byte(text), nil); err != nil {
		now.Text, now.Fault = text, problemOf(err)
		now.Places = placed(now.Fault.Errors, text)
		return v.showEditor(now.Fault.Status, now)
	}
	v.redirect(repositoryLink(v.app(), v.session(), now.ID) + "?saved")
	return nil
}

// editedText is the text of an editor, with the ends of lines that it was given.
func editedText(v *visit) string {
	return strings.ReplaceAll(v.r.PostForm.Get("text"), "\r\n", "\n")
}

func changedMeanwhile() *problem {
	return &problem{
		Status: http.StatusConflict, Title: "Somebody changed it meanwhile",
		Detail: "what you wrote is below and not saved; saving again writes over what is stored now",
	}
}
