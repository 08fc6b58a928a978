package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/store"
)

type appList struct {
	Apps  []appItem
	Next  string
	Host  string
	Form  appForm
	Fault *problem
}

type appItem struct {
	ID   string `json:"appId"`
	Name string `json:"name"`
}

type appForm struct{ ID, Name string }

// listApps shows the list of apps to the admin, and redirects the holder of an app's key to that app.
func (v *pageRequest) listApps(status int, form appForm, fault *problem) error {
	var found list[appItem]
	path := "/v1/apps?limit=100"
	if after := v.r.URL.Query().Get("after"); after != "" {
		path += "&after=" + url.QueryEscape(after)
	}
	if err := v.get(path, &found); err != nil {
		if app := v.ownApp(); app != "" {
			return v.redirect(link("apps", app))
		}
		return err
	}
	return v.renderStatus(status, "apps", "Apps", appList{Apps: found.Items, Next: found.Next, Host: v.r.Host, Form: form, Fault: fault})
}

// createApp creates an app with only a name. An existing app is not changed.
func createApp(v *pageRequest) error {
	given := v.r.PostForm
	form := appForm{given.Get("appId"), given.Get("name")}
	if err := repositories.CheckID("appId", form.ID); err != nil {
		return v.listApps(http.StatusBadRequest, form, &problem{Status: http.StatusBadRequest, Title: "That cannot be", Detail: err.Error()})
	}
	err := v.get(v1("apps", form.ID), nil)
	if refused(err, http.StatusNotFound) != nil {
		body, _ := json.Marshal(map[string]string{"name": form.Name}) // strings always encode
		err = v.call(http.MethodPut, v1("apps", form.ID), body, nil)
	}
	if err != nil {
		return v.listApps(http.StatusBadRequest, form, problemOf(err))
	}
	return v.redirect(link("apps", form.ID))
}

type appShown struct {
	App     appRecord
	Sources []sourceShown // with their reachability, if it was requested
	Checked bool
	Keys    []store.AppKey
	Scopes  []string
	Denied  string // why the key may not read the app
	Made    *keyMade
	Text    string // of the editor
	Saved   bool
	Fault   *problem // of the editor
	Places  []flawPlace
	KeyFlaw *problem // of the form for a new key
}

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

type keyMade struct {
	ID  string `json:"keyId"`
	Key string `json:"key"`
}

func appPage(v *pageRequest) error {
	shown := appShown{Saved: v.r.URL.Query().Has("saved"), Checked: v.r.URL.Query().Has("check")}
	return v.showApp(http.StatusOK, shown)
}

// showApp reads the rest of the page. A key that may not read the app sees why.
func (v *pageRequest) showApp(status int, shown appShown) error {
	var raw json.RawMessage
	err := v.get(v1("apps", v.app()), &raw)
	if found := refused(err, http.StatusForbidden); found != nil {
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
	shown.Scopes = []string{"messages", "triggers", "tools", "app", "messages:read", "triggers:read", "tools:read", "app:read"}
	if shown.Checked {
		var found list[sourceShown]
		if err := v.get(v1("apps", v.app(), "sources"), &found); err != nil {
			return err
		}
		for i, of := range shown.Sources {
			for _, one := range found.Items {
				if one.Name == of.Name {
					shown.Sources[i].Reachable, shown.Sources[i].Error = one.Reachable, one.Error
				}
			}
		}
	}
	return v.renderStatus(status, "app", "App", shown)
}

// saveApp replaces the app with the editor's text. Faults appear beside the text.
func saveApp(v *pageRequest) error {
	form := v.r.PostForm
	text := editedText(form)
	if err := v.call(http.MethodPut, v1("apps", v.app()), []byte(text), nil); err != nil {
		fault := problemOf(err)
		return v.showApp(fault.Status, appShown{Text: text, Fault: fault, Places: placed(fault.Errors, text)})
	}
	return v.redirect(link("apps", v.app(), "settings") + "?saved#editor")
}

func makeKey(v *pageRequest) error {
	form := v.r.PostForm
	asked := map[string]any{"scopes": append([]string{}, form["scopes"]...)}
	for _, name := range []string{"name", "expiresIn"} {
		if given := strings.TrimSpace(form.Get(name)); given != "" {
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

// revokeKey ends a key and everything created with it.
func revokeKey(v *pageRequest) error {
	if err := v.call(http.MethodDelete, v1("apps", v.app(), "keys", v.r.PathValue("key")), nil, nil); err != nil {
		return err
	}
	return v.redirect(link("apps", v.app(), "settings") + "#keys-of-app")
}
