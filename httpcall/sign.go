package httpcall

import (
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

// sign returns webhook-signature (Standard Webhooks 1.0): one signature for each of
// the app's secrets, which are separated by spaces, so that a receiver can change from
// one to the next. A secret is base64, after whsec_ or without it, as receivers read it.
// An app without a secret has its calls unsigned.
func sign(secrets secret.Secret, id string, at time.Time, body []byte) (string, error) {
	var signatures []string
	for _, secret := range strings.Fields(secrets.Reveal()) {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return "", dead(effect.ReasonRequest, "the app's signingSecret is not base64, so the call cannot be signed")
		}
		signature, err := signer.Sign(id, at, body)
		if err != nil {
			return "", dead(effect.ReasonRequest, "the call cannot be signed with the app's signingSecret")
		}
		signatures = append(signatures, signature)
	}
	return strings.Join(signatures, " "), nil
}
