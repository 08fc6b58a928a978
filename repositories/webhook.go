package repositories

import (
	"cmp"
	"slices"

	"earshot/repositories/fault"
	"earshot/repositories/secret"
)

// Webhook is a URL of the app that receives its events.
type Webhook struct {
	Name   string        `json:"name"`
	URL    string        `json:"url"`
	Types  []string      `json:"types,omitempty"` // first two tokens of the events' subjects; empty is all
	Secret secret.Secret `json:"secret,omitzero"` // signing secret; empty is the app's signingSecret
	State  string        `json:"state,omitempty"` // empty is WebhookEnabled
}

// States of a webhook, set by its app.
const (
	WebhookEnabled  = "enabled"
	WebhookDisabled = "disabled"
)

// Takes reports whether events of a type are sent to the webhook.
func (w Webhook) Takes(kind string) bool { return len(w.Types) == 0 || slices.Contains(w.Types, kind) }

// Enabled reports whether the app wants events to be sent.
func (w Webhook) Enabled() bool { return w.State != WebhookDisabled }

// Webhook returns the app's webhook with a name, and whether it exists. Its Secret is the one that signs.
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

// webhooks checks rules beyond the schema: names are unique, and every webhook has a secret.
func (d *decoding) webhooks(app *App) {
	seen := map[string]int{}
	for i, webhook := range app.Settings.Webhooks {
		d.unique(seen, webhook.Name, i, webhookPoint(i, "name"), "%q is the name of webhook %d as well")
		if cmp.Or(webhook.Secret, app.SigningSecret).Empty() {
			d.Miss(webhookPoint(i, "secret"), ", as the app has no signingSecret: a receiver could not tell our requests from others; make one with: echo whsec_$(openssl rand -base64 32)")
		}
	}
}

func webhookPoint(i int, field string) string { return fault.Point("settings", "webhooks", i, field) }
