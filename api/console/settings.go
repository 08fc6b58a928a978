package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/repositories/store"
)

// appShown is what the page of an app shows.
type appShown struct {
	App     appRecord
	Sources []sourceShown // with whether they are reached, where that was asked for
	Checked bool
	Keys    []store.AppKey
	Scopes  []string
	Denied  string // why the app cannot be read
	Made    *keyMade
	Text    string // of the editor
	Saved   bool
	Fault   *problem // of the editor, and where in its text
	Places  []flawPlace
	KeyFlaw *problem // of the form of a key
}

// appRecord is the app as REST shows it, as far as the page tells it in words.
type appRecord struct {
	Name    string `json:"name"`
	Modules []struct {
		ID       string   `json:"moduleId"`
		ClientID string   `json:"clientId"`
		TokenURL string   `json:"tokenUrl"`
		Hosts    []string `json:"hosts"`
	} `json:"modules"`
	AuthServices []struct {
		Name   string `json:"name"`
		Issuer string `json:"issuer"`
	} `json:"authServices"`
	Sources  []sourceShown  `json:"sources"`
	Settings map[string]any `json:"settings"`
}

// sourceShown is a source, and whether it is reached.
type sourceShown struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Host      string `json:"host"`
	Database  string `json:"database"`
	BaseURL   string `json:"baseUrl"`
	URL       string `json:"url"`
	Reachable *bool  `json:"reachable"`
	Error     string `json:"error"`
}

// keyMade is a new key, which is shown once.
type keyMade struct {
	ID  string `json:"keyId"`
	Key string `json:"key"`
}

func appPage(v *visit) error {
	shown := appShown{Saved: v.r.URL.Query().Has("saved"), Checked: v.r.URL.Query().Has("check")}
	return v.showApp(http.StatusOK, shown)
}

// showApp reads what the page shows beside what it is given. Who may not read the app sees
// why.
func (v *visit) showApp(status int, shown appShown) error {
	var raw json.RawMessage
	err := v.get(v1("apps", v.app()), &raw)
	var found *problem
	if errors.As(err, &found) && found.Status == http.StatusForbidden {
		shown.Denied = found.Detail
		return v.renderStatus(http.StatusForbidden, "app", "App", shown)
	}
	if err == nil {
		err = exactjson.Unmarshal(raw, &shown.App)
	}
	if err == nil && shown.Text == "" {
		shown.Text, err = indentedJSON(raw)
	}
	if err != nil {
		return err
	}
	var keys list[store.AppKey]
	if err := v.get(v1("apps", v.app(), "keys")+"?limit=200", &keys); err != nil {
		return err
	}
	shown.Keys, shown.Sources = keys.Items, shown.App.Sources
	shown.Scopes = []string{"messages", "triggers", "tools", "app"}
	if shown.Checked {
		if err := v.checkSources(&shown); err != nil {
			return err
		}
	}
	return v.renderStatus(status, "app", "App", shown)
}

// checkSources adds whether the sources are reached.
func (v *visit) checkSources(shown *appShown) error {
	var found list[sourceShown]
	if err := v.get(v1("apps", v.app(), "sources"), &found); err != nil {
		return err
	}
	for i := range shown.Sources {
		for _, one := range found.Items {
			if one.Name == shown.Sources[i].Name {
				shown.Sources[i].Reachable, shown.Sources[i].Error = one.Reachable, one.Error
			}
		}
	}
	return nil
}

// saveApp puts the app as the editor has it. What is wrong with it stands beside the text.
func saveApp(v *visit) error {
	if err := v.r.ParseForm(); err != nil {
		return err
	}
	text := editedText(v)
	err := v.call(http.MethodPut, v1("apps", v.app()), []byte(text), nil)
	if err == nil {
		v.redirect(link("apps", v.app(), "settings") + "?saved#editor")
		return nil
	}
	fault := problemOf(err)
	return v.showApp(fault.Status, appShown{Text: text, Fault: fault, Places: placed(fault.Errors, text)})
}

// makeKey makes a key and shows it, this once.
func makeKey(v *visit) error {
	if err := v.r.ParseForm(); err != nil {
		return err
	}
	asked := map[string]any{"scopes": append([]string{}, v.r.PostForm["scopes"]...)}
	for _, name := range []string{"name", "expiresIn"} {
		if given := strings.TrimSpace(v.r.PostForm.Get(name)); given != "" {
			asked[name] = given
		}
	}
	body, err := exactjson.Encode(asked)
	if err != nil {
		return err
	}
	made := &keyMade{}
	if err := v.call(http.MethodPost, v1("apps", v.app(), "keys"), body, made); err != nil {
		fault := problemOf(err)
		return v.showApp(fault.Status, appShown{KeyFlaw: fault})
	}
	return v.showApp(http.StatusOK, appShown{Made: made})
}

// revokeKey ends a key, with all that it has made.
func revokeKey(v *visit) error {
	if err := v.call(http.MethodDelete, v1("apps", v.app(), "keys", v.r.PathValue("key")), nil, nil); err != nil {
		return err
	}
	v.redirect(link("apps", v.app(), "settings") + "#keys-of-app")
	return nil
}
