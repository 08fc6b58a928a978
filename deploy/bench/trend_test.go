package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func pointsOf(n int, value func(minute float64) float64) (points []point) {
	for i := range n {
		points = append(points, point{float64(i), value(float64(i))})
	}
	return points
}

func TestTrendIsTheLineOfLeastSquares(t *testing.T) {
	exact, err := trendOf(pointsOf(61, func(at float64) float64 { return 100 + 2*at }))
	require.NoError(t, err)
	require.InDelta(t, 2, exact.slope, 1e-9)
	require.InDelta(t, 0, exact.sure, 1e-9)
	require.InDelta(t, 160, exact.mean, 1e-9)
	require.InDelta(t, 60, exact.span, 1e-9)
	// Worked out by hand: values 1 and 3 in turns, eight times. Their slope is 4/42.
	turns, err := trendOf(pointsOf(8, func(at float64) float64 { return 2 - math.Cos(math.Pi*at) }))
	require.NoError(t, err)
	require.InDelta(t, 8.0/84, turns.slope, 1e-9)
	require.InDelta(t, math.Sqrt((8-42*math.Pow(8.0/84, 2))/6/42), turns.sure, 1e-9)
}

func TestVerdictTellsALeakFromASawtooth(t *testing.T) {
	sawtooth := func(at float64) float64 { return 100 + 50*math.Mod(at*7, 11)/11 }
	for _, test := range []struct {
		name    string
		value   func(float64) float64
		verdict string
	}{
		{"constant", func(float64) float64 { return 40 }, flat},
		{"nothing at all", func(float64) float64 { return 0 }, flat},
		{"sawtooth", sawtooth, flat},
		{"sawtooth that leaks a quarter in the time", func(at float64) float64 { return sawtooth(at) + at*31/1000 }, grows},
		{"a few per cent", func(at float64) float64 { return 100 + at*3/1000 }, flat},
		{"leak", func(at float64) float64 { return 100 + at*10/1000 }, grows},
		{"what was full is emptied", func(at float64) float64 { return 1000 - at/2 }, falls},
		{"steps up once", func(at float64) float64 { return 100 + 40*math.Floor(at/500) }, grows},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := trendOf(pointsOf(1000, test.value))
			require.NoError(t, err)
			require.Equal(t, test.verdict, found.verdict(), "%+v", found)
		})
	}
}

// Long teeth hide what is left when they end, unless that alone is looked at.
func TestHeapIsJudgedByWhatCollectionsLeave(t *testing.T) {
	heap := func(leak float64) []point {
		return pointsOf(750, func(at float64) float64 { return 8 + 60*math.Mod(at, 7)/7 + leak*at/750 })
	}
	for leak, wanted := range map[float64]string{0: flat, 2: grows} {
		found, err := trendOf(lows(heap(leak)))
		require.NoError(t, err)
		require.Equal(t, wanted, found.verdict(), "%+v", found)
	}
	all, err := trendOf(heap(2))
	require.NoError(t, err)
	require.NotEqual(t, grows, all.verdict(), "%+v", all)
	require.Len(t, lows(heap(0)), 25)
	require.Equal(t, []point{{0, 5}, {1, 3}}, lows([]point{{0, 5}, {1, 3}}), "fewer than windows")
}

// Ten samples of a sawtooth, and a leak as large as its teeth, cannot be told apart.
func TestVerdictOfTooLittleIsUnclear(t *testing.T) {
	found, err := trendOf(pointsOf(10, func(at float64) float64 { return 100 + 50*math.Mod(at*7, 11)/11 + at }))
	require.NoError(t, err)
	require.Equal(t, unclear, found.verdict(), "%+v", found)
	_, err = trendOf(pointsOf(enoughPoints-1, func(float64) float64 { return 1 }))
	require.ErrorContains(t, err, "7 samples")
}

// What fills during the warm-up is no leak, and what may grow is not judged.
func TestEachThingThatIsHeldIsJudgedAfterTheWarmUp(t *testing.T) {
	var samples []sample
	for i := range 241 {
		at := float64(i) / 240 // of an hour
		samples = append(samples, sample{time.Duration(i) * 15 * time.Second, []float64{50 + 200*min(at, 0.25), 30 + 12*at, 40, 120, 9, 90, 9000 - 6000*at, 800 * at}})
	}
	rows, err := verdictTable(samples, 15*time.Minute)
	require.NoError(t, err)
	verdicts := map[string]string{}
	for _, row := range rows[1:] {
		verdicts[row[0]] = row[len(row)-1]
	}
	require.Equal(t, map[string]string{
		"server RSS MiB": flat, "server heap MiB": grows, "goroutines": flat, "file descriptors": flat, "NATS MiB": flat, "Redis MiB but lasting": flat,
		"keys in Redis but lasting": falls, lasting: "kept for longer",
	}, verdicts)
	require.Contains(t, rows, []string{"server heap MiB", "37.4", "+12.00", "0.00", "+23.4 %", "+23.4 %", "+23.4 %", grows})
	_, err = verdictTable(samples[:62], 15*time.Minute)
	require.ErrorContains(t, err, "2 samples")
}
