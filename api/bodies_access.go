package api

import (
	"fmt"
	"time"

	"earshot/repositories"
)

// How long credentials may be good.
const (
	// mostKeyLife is ten years: longer is for ever, and that is said by leaving it out.
	mostKeyLife = 10 * 365 * 24 * time.Hour
	// mostTokenLife is what the contract gives a session token.
	mostTokenLife = 24 * time.Hour
)

// askedKey is a key that is to be made.
type askedKey struct {
	Name      string                    `json:"name"`
	Scopes    []repositories.Permission `json:"scopes"`
	ExpiresIn string                    `json:"expiresIn"`
	lifetime  time.Duration             // zero for no end
}

func decodeKey(bodies *repositories.Bodies, body []byte) (askedKey, error) {
	var asked askedKey
	if err := bodies.Decode("KeyRequest", body, &asked); err != nil {
		return asked, err
	}
	asked.lifetime, _ = time.ParseDuration(asked.ExpiresIn) // was checked; empty is none
	return asked, nil
}

// decodeTokenLife reads how long a session token is to be good.
func decodeTokenLife(bodies *repositories.Bodies, body []byte) (time.Duration, error) {
	var asked struct {
		ExpiresIn string `json:"expiresIn"`
	}
	if err := bodies.Decode("TokenRequest", body, &asked); err != nil {
		return 0, err
	}
	if asked.ExpiresIn == "" {
		return defaultTokenLife, nil
	}
	return time.ParseDuration(asked.ExpiresIn)
}

func checkLife(text string, most time.Duration, example string) error {
	life, err := time.ParseDuration(text)
	if err != nil || life < time.Second || life > most {
		return fmt.Errorf("%s is no duration of at least 1s and at most %s, as in %s", quoteShort(text), hours(most), example)
	}
	return nil
}

func hours(d time.Duration) string { return fmt.Sprintf("%dh", int(d.Hours())) }
