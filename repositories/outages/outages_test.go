package outages_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/repositories/outages"
)

func lines(log *testbed.Lines, level string) (found []string) {
	for line := range strings.Lines(log.String()) {
		if _, rest, ok := strings.Cut(line, "level="+level+" msg="); ok {
			found = append(found, strings.TrimSpace(rest))
		}
	}
	return found
}

func TestTroubleThatLastsIsALineForEachOfItsWays(t *testing.T) {
	t.Parallel()
	var out testbed.Lines
	log := outages.New(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	for range 600 { // a minute
		log.Trouble(t.Context(), "nats", "away", "nats.away", "error", "refused")
		log.Trouble(t.Context(), "redis", "", "redis.away")
	}
	for range 600 {
		log.Trouble(t.Context(), "nats", "leaderless", "nats.away", "error", "no leader")
	}
	log.Over(t.Context(), "nats", "nats.back", "server", "one")
	log.Over(t.Context(), "nats", "nats.back")
	log.Trouble(t.Context(), "nats", "away", "nats.away", "error", "again")
	log.Over(t.Context(), "nats", "nats.back") // none was suppressed
	log.Over(t.Context(), "well", "well.back")
	require.Equal(t, []string{"nats.away error=refused", "redis.away", `nats.away error="no leader"`, "nats.away error=again"}, lines(&out, "WARN"))
	require.Equal(t, []string{"nats.back server=one held=1198"}, lines(&out, "INFO"))
	require.Len(t, lines(&out, "DEBUG"), 1198+599)
}

func TestThingsInTroubleAtTheSameTimeAreOneLineEach(t *testing.T) {
	t.Parallel()
	var out testbed.Lines
	log, done := outages.New(slog.New(slog.NewTextHandler(&out, nil))), make(chan struct{})
	for range 8 {
		go func() {
			for range 100 {
				log.Trouble(t.Context(), "nats", "away", "nats.away")
			}
			done <- struct{}{}
		}()
	}
	for range 8 {
		<-done
	}
	log.Over(t.Context(), "nats", "nats.back")
	require.Equal(t, []string{"nats.away"}, lines(&out, "WARN"))
	require.Equal(t, []string{"nats.back held=799"}, lines(&out, "INFO"))
}
