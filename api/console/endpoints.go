package console

import (
	"encoding/json"
	"net/http"
	"net/url"

	"earshot/trigger/usage"
	"earshot/trigger/webhooks"
)

// endpoints is the body of the page with webhooks and the hosts of tools.
type endpoints struct {
	Period   period
	Hosts    []usage.Host
	Denied   string // why both are hidden
	Webhooks []webhookShown
	Away     string // why webhooks are hidden
	Resent   string // the webhook that is being resent
	Fault    *problem
}

// webhookShown is a webhook with its first missed deliveries.
type webhookShown struct {
	webhooks.Webhook
	Missed []webhooks.Delivery
	More   bool
}

func endpointsPage(v *pageRequest) error {
	return v.showEndpoints(http.StatusOK, endpoints{Resent: v.r.URL.Query().Get("resent")})
}

func (v *pageRequest) showEndpoints(status int, shown endpoints) error {
	given := v.r.URL.Query()
	if given.Get("within") == "" && given.Get("since") == "" {
		given.Set("within", "24h")
	}
	shown.Period = periodOf(given, v.now())
	var hosts list[usage.Host]
	err := v.get(v1("apps", v.app(), "usage", "hosts")+"?limit=200&"+shown.Period.Query(), &hosts)
	if found := refused(err, http.StatusForbidden); found != nil {
		shown.Denied = found.Detail
		return v.renderStatus(status, "endpoints", "Endpoints", shown)
	}
	if found := refused(err, http.StatusBadRequest); found != nil {
		shown.Fault, err = found, nil
	}
	var all list[webhooks.Webhook]
	if err == nil {
		err = v.get(v1("apps", v.app(), "webhooks")+"?limit=200", &all)
	}
	if found := refused(err, http.StatusServiceUnavailable); found != nil {
		shown.Away, err = found.Detail, nil
	}
	if err != nil {
		return err
	}
	shown.Hosts = hosts.Items
	for _, one := range all.Items {
		of := webhookShown{Webhook: one}
		if one.Waiting+one.Failed > 0 {
			var missed list[webhooks.Delivery]
			if err := v.get(v1("apps", v.app(), "webhooks", one.Name, "deliveries")+"?limit=20", &missed); err != nil {
				return err
			}
			of.Missed, of.More = missed.Items, missed.Next != ""
		}
		shown.Webhooks = append(shown.Webhooks, of)
	}
	return v.renderStatus(status, "endpoints", "Endpoints", shown)
}

// resend resends to a webhook what did not arrive, or all events since a moment.
func resend(v *pageRequest) error {
	name, body := v.r.PathValue("webhook"), []byte(nil)
	if since := momentOf(v.r.PostForm.Get("since")); since != "" {
		body, _ = json.Marshal(map[string]string{"since": since}) // strings always encode
	}
	if err := v.call(http.MethodPost, v1("apps", v.app(), "webhooks", name, "resend"), body, nil); err != nil {
		fault := problemOf(err)
		return v.showEndpoints(fault.Status, endpoints{Fault: fault})
	}
	return v.redirect(link("apps", v.app(), "endpoints") + "?resent=" + url.QueryEscape(name))
}
