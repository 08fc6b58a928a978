package offline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/matchertest"
	"earshot/matcher/offline"
)

const reminder = `{"name":"remind_me","description":"Set a reminder","examples":["remind me","set a reminder"],"schema":[
	{"parameter":"delay","type":"integer","unit":"minutes","required":true},
	{"parameter":"day","type":"string","allowedValues":["Monday","Friday"],"aliases":{"Friday":["Freitag","vendredi"]}}]}`

func TestOfflineMatcherReadsAmountsAndAliases(t *testing.T) {
	for said, fired := range map[string]string{
		"remind me in two hours":                           `remind_me {"delay":120}`,
		"remind me Freitag in 1 h 30":                      `remind_me {"day":"Friday","delay":90}`,
		"set a reminder in half an hour":                   `remind_me {"delay":30}`,
		"set a reminder in 30 seconds":                     "",
		"set a reminder in 2 kilos":                        "",
		"set a reminder in 2 to 3 hours":                   "",
		"set a reminder, not in 30 minutes but 40 minutes": `remind_me {"delay":40}`,
	} {
		result, err := offline.New().Match(t.Context(), matchertest.Request(t, said, reminder))
		require.NoError(t, err)
		if fired == "" {
			require.Empty(t, result.Matches, said)
			continue
		}
		require.Equal(t, []string{fired}, matchertest.Fired(result), said)
	}
}
