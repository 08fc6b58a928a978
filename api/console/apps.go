package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"earshot/repositories"
)

// appList is what the list of apps shows.
type appList struct {
	Apps  []appItem
	Next  string
	Host  string
	Form  appForm
	Fault *problem
}

// appItem is an app in the list.
type appItem struct {
	ID   string `json:"appId"`
	Name string `json:"name"`
}

// appForm is the form of a new app.
type appForm struct{ ID, Name string }

// appsPage lists the apps to the admin. Holders of a key have one, and are led to it.
func appsPage(v *visit) error { return v.listApps(http.StatusOK, appForm{}, nil) }

func (v *visit) listApps(status int, form appForm, fault *problem) error {
	var found list[appItem]
	path := "/v1/apps?limit=100"
	if after := v.r.URL.Query().Get("after"); after != "" {
		path += "&after=" + url.QueryEscape(after)
	}
	if err := v.get(path, &found); err != nil {
		if app := v.ownApp(); app != "" {
			v.redirect(link("apps", app))
			return nil
		}
		return err
	}
	return v.renderStatus(status, "apps", "Apps", appList{Apps: found.Items, Next: found.Next, Host: v.r.Host, Form: form, Fault: fault})
}

// createApp makes an app that has only a name; all else is set later. One that is there
// already is left as it is.
func createApp(v *visit) error {
	if err := v.r.ParseForm(); err != nil {
		return err
	}
	form := appForm{v.r.PostForm.Get("appId"), v.r.PostForm.Get("name")}
	if err := repositories.CheckID("appId", form.ID); err != nil {
		return v.listApps(http.StatusBadRequest, form, &problem{Status: http.StatusBadRequest, Title: "That cannot be", Detail: err.Error()})
	}
	err := v.get(v1("apps", form.ID), nil)
	var found *problem
	if errors.As(err, &found) && found.Status == http.StatusNotFound {
		body, _ := json.Marshal(map[string]string{"name": form.Name}) // texts alone
		err = v.call(http.MethodPut, v1("apps", form.ID), body, nil)
	}
	if err != nil {
		return v.listApps(http.StatusBadRequest, form, problemOf(err))
	}
	v.redirect(link("apps", form.ID))
	return nil
}
