package trigger

import (
	"context"
	"slices"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
)

// needed returns of a message's claims those that tools in scope ask for, and nothing
// for messages that fire nothing. It costs a round trip for those who bring a token.
func (e *Engine) needed(ctx context.Context, m Message) (parameters.Claims, error) {
	if len(m.Claims) == 0 || m.Actor == matcher.ActorAgent {
		return nil, nil
	}
	s, err := e.loadScope(ctx, m.AppID, m.SessionID)
	if err != nil {
		return nil, err
	}
	return repositories.NeededClaims(m.Claims, slices.Concat(s.session, s.own)), nil
}

// encode writes a message and its claims as the ledger keeps them; both are empty for
// a turn that is claimed.
func (m *storedMessage) encode() (text, claims string, err error) {
	if m == nil {
		return "", "", nil
	}
	message, err := exactjson.Encode(m)
	if err != nil || len(m.claims) == 0 {
		return string(message), "", err
	}
	verified, err := exactjson.Encode(m.claims)
	return string(message), string(verified), err
}

func readClaims(text string) (claims parameters.Claims, err error) {
	if text != "" {
		err = decode(text, &claims)
	}
	return claims, err
}
