package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTableOfACampaignThatIsAProofSaysSo(t *testing.T) {
	o := &outcome{asked: 2, random: 2, accounts: []*account{{phase: "kills", closed: true, owed: 7, rested: time.Second}}}
	require.Empty(t, o.failures())
	require.Contains(t, o.table(), "**PASSED**: all 1 phases came to rest")
	require.Contains(t, o.table(), "| phase kills | once, at rest, books balance; 7 owed at the end at most, nothing after 1s at most |")
	require.Contains(t, o.table(), "| **violations** | **0** |")
}

// TestTableDoesNotReadAsAPassWhereItProvesNothing has one phase that is well beside each.
func TestTableDoesNotReadAsAPassWhereItProvesNothing(t *testing.T) {
	well := &account{phase: "kills", closed: true}
	owing := &account{phase: "outage", closed: true}
	owing.trouble(errors.New("12 effects or turns are still owed after 1m30s of quiet"))
	for says, o := range map[string]*outcome{
		"no phase was run": {},
		"phase outage did not come to rest: 12 effects or turns are still owed after 1m30s of quiet": {accounts: []*account{well, owing}},
		"| phase outage | **1 of 1 DID NOT COME TO REST**; violations so far: 0 |":                   {accounts: []*account{well, owing}},
		"| **violations** | **0 found, NOT KNOWN for 1 phases** |":                                   {accounts: []*account{well, owing}},
		"its books were never closed": {accounts: []*account{well, {phase: "outage"}}},
		"2 violations of the promise": {accounts: []*account{well, {phase: "full", closed: true, violations: []string{"a", "b"}}}},
		"it was cut off":              {accounts: []*account{well}, cut: true},
		"only 3 of the 500 kills":     {accounts: []*account{well}, asked: 500, random: 3},
	} {
		require.NotEmpty(t, o.failures(), says)
		require.Contains(t, o.table(), says)
		require.Regexp(t, `^\*\*FAILED\*\*: `, o.table())
		require.NotContains(t, o.table(), "PASSED")
	}
}

func TestQuantileIsTheValueThatAPartDoesNotExceed(t *testing.T) {
	list := []time.Duration{3 * time.Second, time.Second, 2 * time.Second}
	require.Equal(t, 2*time.Second, quantile(list, 0.5))
	require.Equal(t, 3*time.Second, quantile(list, 1))
	require.Zero(t, quantile(nil, 1))
}
