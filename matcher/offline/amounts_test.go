package offline_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const reminder = `{"name":"remind_me","description":"Set a reminder","examples":["remind me","set a reminder"],"schema":[
	{"parameter":"delay","type":"integer","unit":"minutes","required":true},
	{"parameter":"day","type":"string","allowedValues":["Monday","Friday"],"aliases":{"Friday":["Freitag","vendredi"]}}]}`

func TestOfflineMatcherReadsAmountsAndAliases(t *testing.T) {
	for said, want := range map[string]string{
		"remind me in two hours":                           `remind_me {"delay":120}`,
		"remind me Freitag in 1 h 30":                      `remind_me {"day":"Friday","delay":90}`,
		"set a reminder in half an hour":                   `remind_me {"delay":30}`,
		"set a reminder in 30 seconds":                     "remind_me misses [delay]",
		"set a reminder in 2 kilos":                        "remind_me misses [delay]",
		"set a reminder in 2 to 3 hours":                   "remind_me misses [delay]",
		"set a reminder, not in 30 minutes but 40 minutes": `remind_me {"delay":40}`,
	} {
		require.Equal(t, want, matched(t, said, reminder), said)
	}
}
