package sealing

import (
	"fmt"
	"strings"

	"earshot/repositories/store"
)

// Tally counts what holds credentials, by the key that has sealed them: a definition of which
// one credential is sealed by an old key counts there, and with one that no key opens as that.
type Tally struct {
	Apps         Keys `json:"apps"`
	Repositories Keys `json:"repositories"` // of apps and of their sessions
	Calls        Keys `json:"calls"`        // that are owed, held back or failed
}

// Keys counts by keys.
type Keys struct {
	Current int `json:"current"` // sealed by the key that seals now
	Old     int `json:"old"`     // by one from before a rotation
	None    int `json:"none"`    // by no key that is here
}

func (k *Keys) count(found store.Sealing) {
	switch found {
	case store.ByCurrent:
		k.Current++
	case store.ByOld:
		k.Old++
	case store.ByNone:
		k.None++
	}
}

// Old is how much is sealed by a key from before a rotation.
func (t *Tally) Old() int { return t.Apps.Old + t.Repositories.Old + t.Calls.Old }

// None is how much no key opens.
func (t *Tally) None() int { return t.Apps.None + t.Repositories.None + t.Calls.None }

// Current is how much the key seals that seals now.
func (t *Tally) Current() int { return t.Apps.Current + t.Repositories.Current + t.Calls.Current }

// Words are the counts that pick takes, in words: 1 app, 3 repositories, 2 calls.
func (t *Tally) Words(pick func(Keys) int) string {
	var parts []string
	for _, kind := range []struct {
		of             Keys
		one, severally string
	}{{t.Apps, "app", "apps"}, {t.Repositories, "repository", "repositories"}, {t.Calls, "call", "calls"}} {
		switch n := pick(kind.of); n {
		case 0:
		case 1:
			parts = append(parts, "1 "+kind.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, kind.severally))
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// ByCurrent, ByOld and ByNone pick counts for Words.
func ByCurrent(k Keys) int { return k.Current }

// ByOld picks what an old key seals.
func ByOld(k Keys) int { return k.Old }

// ByNone picks what no key opens.
func ByNone(k Keys) int { return k.None }
