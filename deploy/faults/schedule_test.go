package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/failpoint"
)

func TestScheduleHangsOnItsSeedAloneAndComesToEveryPoint(t *testing.T) {
	choices := func(seed int64) (list []string) {
		plan := newSchedule(seed, failpoint.Points())
		plan.arm(len(failpoint.Points()))
		for plan.pending() {
			point, passes := plan.next()
			list = append(list, fmt.Sprintf("%s:%d", point, passes))
		}
		return list
	}
	require.Equal(t, choices(1), choices(1))
	require.NotEqual(t, choices(1), choices(2))
	seen := map[string]bool{}
	for _, choice := range choices(3) {
		seen[strings.Split(choice, ":")[0]] = true
	}
	require.Len(t, seen, len(failpoint.Points()))
}

func TestScheduleIsQuietWhenNobodyIsOnTheWayToAPoint(t *testing.T) {
	plan := newSchedule(1, failpoint.Points())
	plan.arm(1)
	plan.next()
	require.False(t, plan.pending())
	require.False(t, plan.quiet())
	plan.over()
	require.True(t, plan.quiet())
}

func TestPointThatWasMissedComesAgain(t *testing.T) {
	plan := newSchedule(1, failpoint.Points())
	plan.arm(len(failpoint.Points()))
	first, _ := plan.next()
	plan.missed(first)
	var last failpoint.Point
	for plan.pending() {
		last, _ = plan.next()
	}
	require.Equal(t, first, last)
}

func TestPlantedCredentialsAreFoundInEveryForm(t *testing.T) {
	secrets := plant()
	secrets.look("a log", "all is well")
	require.Empty(t, secrets.all())
	for _, word := range secrets.words() {
		secrets.look("a log", "x"+word+"y")
	}
	require.GreaterOrEqual(t, len(secrets.all()), len(secrets.words()))
}
