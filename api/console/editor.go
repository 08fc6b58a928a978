package console

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"

	"earshot/repositories/exactjson"
)

type editor struct {
	Session, ID string
	Text        string
	Was         string // digest of the stored definition
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

func editorPage(v *pageRequest) error {
	shown, err := v.stored()
	if err != nil {
		return err
	}
	shown.Saved = v.r.URL.Query().Has("saved")
	return v.showEditor(http.StatusOK, shown)
}

func (v *pageRequest) showEditor(status int, shown editor) error {
	return v.renderStatus(status, "editor", shown.ID, shown)
}

// stored reads the repository of the path as it is now. A missing one is new.
func (v *pageRequest) stored() (editor, error) {
	shown := editor{Session: v.session(), ID: v.r.PathValue("repository")}
	var found struct {
		Options json.RawMessage `json:"options,omitempty"`
		Tools   json.RawMessage `json:"tools"`
	}
	err := v.get(v.repositoryPath(), &found)
	if refused(err, http.StatusNotFound) != nil {
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
	sum := sha256.Sum256([]byte(shown.Text))
	shown.Was = base64.RawURLEncoding.EncodeToString(sum[:])
	var tools []struct{ Name string }
	err = json.Unmarshal(found.Tools, &tools)
	for _, one := range tools {
		shown.Tools = append(shown.Tools, one.Name)
	}
	return shown, err
}

func (v *pageRequest) repositoryPath() string {
	return owner(v.app(), v.session()) + "/repositories/" + url.QueryEscape(v.r.PathValue("repository"))
}

// saveRepository stores the text, or removes the repository. It does not write over a change that
// the person has not seen.
func saveRepository(v *pageRequest) error {
	form := v.r.PostForm
	now, err := v.stored()
	if err != nil {
		return err
	}
	if form.Get("do") == "remove" {
		if err := v.call(http.MethodDelete, v.repositoryPath(), nil, nil); err != nil {
			return err
		}
		return v.redirect(link("apps", v.app(), "tools") + "?session=" + url.QueryEscape(v.session()))
	}
	text := editedText(form)
	if now.Was != form.Get("was") {
		now.Text, now.Fault = text, &problem{
			Status: http.StatusConflict, Title: "Somebody changed it meanwhile",
			Detail: "what you wrote is below and not saved; saving again writes over what is stored now",
		}
		return v.showEditor(http.StatusConflict, now)
	}
	if err := v.call(http.MethodPut, v.repositoryPath(), []byte(text), nil); err != nil {
		now.Text, now.Fault = text, problemOf(err)
		now.Places = placed(now.Fault.Errors, text)
		return v.showEditor(now.Fault.Status, now)
	}
	return v.redirect(repositoryLink(v.app(), v.session(), now.ID) + "?saved")
}
