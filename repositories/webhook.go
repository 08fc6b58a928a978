package repositories

import (
	"cmp"
	"slices"

	"earshot/repositories/fault"
	"earshot/repositories/secret"
)

// Webhook is a URL of the app that its events are sent to.
type Webhook struct {
	Name   string        `json:"name"`
	URL    string        `json:"url"`
	Types  []string      `json:"types,omitempty"` // first two words of the events' subjects; empty is all
	Secret secret.Secret `json:"secret,omitzero"` // signs; empty is the app's signingSecret
	State  string        `json:"state,omitempty"` // empty is WebhookEnabled
}

// States of a webhook, as its app sets them.
const (
	WebhookEnabled  = "enabled"
	WebhookDisabled = "disabled"
)

// Takes reports whether events of a type are sent to the webhook.
func (w Webhook) Takes(kind string) bool { return len(w.Types) == 0 || slices.Contains(w.Types, kind) }

// Enabled reports whether the app wants events to be sent.
func (w Webhook) Enabled() bool { return w.State != WebhookDisabled }

// Webhook returns the app's webhook of that name, and whether there is one. Its Secret is the one that signs.
func (a *App) Webhook(name string) (Webhook, bool) {
	i := slices.IndexFunc(a.Settings.Webhooks, func(w Webhook) bool { return w.Name == name })
	if i < 0 {
		return Webhook{}, false
	}
	found := a.Settings.Webhooks[i]
	if found.Secret.Empty() {
		found.Secret = a.SigningSecret
	}
	return found, true
}

// webhooks checks what the schema cannot: names are different, and every webhook signs.
func (d *decoding) webhooks(app *App) {
	seen := map[string]int{}
	for i, webhook := range app.Settings.Webhooks {
		d.unique(seen, webhook.Name, i, webhookPoint(i, "name"), "%q is the name of webhook %d as well")
		if cmp.Or(webhook.Secret, app.SigningSecret).Empty() {
			d.Add(webhookPoint(i, "secret"), "is missing, as the app has no signingSecret: a receiver could not tell our requests from others; make one with: echo whsec_$(openssl rand -base64 32)")
		}
	}
}

func webhookPoint(i int, field string) string { return fault.Point("settings", "webhooks", i, field) }
