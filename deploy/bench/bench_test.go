package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// TestMain lets the test binary play the roles of the bench's own servers.
func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		main()
		return
	}
	testbed.Main(m)
}

func short(t *testing.T, change func(*options)) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and starts Earshot")
	}
	var out bytes.Buffer
	o := options{
		connections: []int{4}, tools: 10, matches: 2, sessions: 20, things: 20, rounds: 1,
		warmup: 100 * time.Millisecond, measured: 300 * time.Millisecond, out: &out,
	}
	change(&o)
	run(t, t.TempDir(), o)
	return out.String()
}

const toolbox = "EARSHOT_BENCH_TOOLBOX"

func TestToolboxAndEarshotCallTheSameTool(t *testing.T) {
	if os.Getenv(toolbox) == "" {
		t.Skip(toolbox + " names no program of Toolbox")
	}
	said := short(t, func(o *options) { o.toolbox, o.sqlOnly = os.Getenv(toolbox), true })
	tables := strings.Split(said, "## ")[1:]
	require.Len(t, tables, 3)
	for i, name := range []string{"a SELECT, as a direct trigger", "a SELECT over MCP", "a statement that changes, over MCP"} {
		require.Contains(t, tables[i], name)
		require.Regexp(t, `\| for each request +\| Toolbox +\| Earshot +\| × Toolbox`, tables[i])
		require.Regexp(t, `\| p50 ms +\| \d+\.\d\d +\| \d+\.\d\d +\| \d+\.\d\d`, tables[i])
		require.Regexp(t, `\| failed +\| 0 +\| 0 `, tables[i])
	}
}

func flagSet() *flag.FlagSet {
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	return set
}

func TestFlagsThatMeasureNothingAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-matches", "9"}, {"-matches", "2", "-tools", "1"}, {"-for", "0s"}, {"-connections", "many"}, {"rest"}, {"-tools", "10001"}, {"-hold", "-1s"}, {"-hostile", "-1"}, {"-hold", "1m", "-rate", "0"}} {
		o := options{}
		require.Error(t, o.parse(flagSet(), args), "%q", args)
	}
	o := options{}
	require.NoError(t, o.parse(flagSet(), []string{"-direct"}))
	require.Equal(t, []int{1, 32, 128}, o.connections)
}

func TestEveryToolHasANameOfItsOwnAndManyBringAWord(t *testing.T) {
	names, words := map[string]bool{}, map[string]bool{}
	for i := range maxTools {
		names[toolName(i)], words[rare(i)] = true, true
	}
	require.Len(t, names, maxTools)
	require.Len(t, words, maxTools)
}

func TestTableHasTheMediansOfTheRounds(t *testing.T) {
	all := []subject{{name: "floor"}, {name: "promise"}, {name: "Earshot"}}
	rates := func(floor, promise, earshot float64) []figures {
		return []figures{{rate: floor}, {rate: promise}, {rate: earshot}}
	}
	rows := turnTable(all, [][]figures{rates(100, 50, 50), rates(200, 160, 80), rates(10, 10, 9)})
	require.Equal(t, []string{"for each request", "floor", "promise", "Earshot", "× floor", "× promise"}, rows[0])
	require.Equal(t, []string{"requests/s", "100", "50", "50", "0.50 (0.40 to 0.90)", "0.90 (0.50 to 1.00)"}, rows[1])
}

func TestTableHasNoRatioToNothing(t *testing.T) {
	both := func(server, redis float64) figures { return figures{cpuServer: server, cpu + "Redis": redis} }
	rows := turnTable([]subject{{name: "Toolbox"}, {name: "Earshot"}}, [][]figures{{both(0.2, 0), both(0.6, 0.5)}, {both(0.4, 0.001), both(0.8, 0.7)}})
	require.Contains(t, rows, []string{"CPU ms, server", "0.300", "0.700", "2.50 (2.00 to 3.00)"})
	require.Contains(t, rows, []string{"CPU ms, Redis", "0.001", "0.600", ""})
}

func TestFiguresAreForEachRequestThatWasAnswered(t *testing.T) {
	times := hdrhistogram.New(1, 1_000_000, 3)
	for micros := range int64(100) {
		require.NoError(t, times.RecordValue((micros+1)*1000))
	}
	found := result{times: times, took: 2 * time.Second, done: 100, pending: 3, failed: 7}
	before := usage{map[string]time.Duration{"Redis": time.Second, nameServer: 0, nameLoad: 0}, map[string]float64{allocations: 5000}}
	after := usage{map[string]time.Duration{"Redis": time.Second + 50*time.Millisecond, nameServer: 10 * time.Millisecond, nameLoad: time.Second}, map[string]float64{allocations: 25_000, redisBytesWritten: 3000}}
	f := figuresOf(found, before, after)
	require.InDelta(t, 50, f[rate], 1e-9)
	require.InDelta(t, 0.5, f[cpu+"Redis"], 1e-9)
	require.InDelta(t, 0.6, f[cpuAll], 1e-9, "with the server, without the load")
	require.InDelta(t, 200, f[allocations], 1e-9)
	require.InDelta(t, 30, f[redisBytesWritten], 1e-9)
	require.InEpsilon(t, 50, f[p50], 1e-3)
	require.InEpsilon(t, 99, f[p99], 1e-3)
	require.Equal(t, []float64{3, 7}, []float64{f["answered as pending"], f[failed]})
}

func TestRowOfDirectTriggersHasRatiosOfPairs(t *testing.T) {
	of := func(answered, half, server float64) figures {
		return figures{rate: answered, p50: half, cpuServer: server, cpu + "Redis": 0.25}
	}
	head := []string{"sessions", "connections", "requests/s", "× floor", "p50 ms", "× floor", "p99 ms", "CPU ms, server", "× floor", "CPU ms, Redis", "pending", "failed"}
	row := directRow(head, 2000, 32, [][]figures{{of(1000, 2, 0.1), of(500, 6, 0.4)}})
	require.Equal(t, []string{"2,000", "32", "500", "0.50", "6.00", "3.00", "0.00", "0.400", "4.00", "0.250", "0", "0"}, row)
}

func TestSessionsAreLeftOneByOne(t *testing.T) {
	w := workload{sessions: 10, messages: 20, first: 1000}
	said, living := map[int]int{}, map[int]bool{}
	for i := range 2000 {
		said[w.session(i)]++
	}
	for i := 1000; i < 1010; i++ {
		living[w.session(i)] = true
	}
	require.Len(t, living, 10)
	left := 0
	for place := range 10 {
		if w.session(1000+place) != w.session(1010+place) {
			left++
		}
	}
	require.LessOrEqual(t, left, 1, "not all at once")
	require.Len(t, said, 10*10+9, "each place has ten, and all but one began in the middle of theirs")
	for session, n := range said {
		require.LessOrEqual(t, n, 20, "session %d", session)
	}
	require.Equal(t, 1007, workload{sessions: 10, first: 1000}.session(57))
}

func TestLivingSessionsSpeakAsLongAsThingsAreKept(t *testing.T) {
	require.Equal(t, 5*time.Minute, kept(time.Hour))
	require.Equal(t, 750, livingSessions(50, time.Hour)) // 50/s for 300 s, 20 messages each
	require.Equal(t, 1, livingSessions(1, time.Second))
}

func TestRowOfGrowthIsBesideTheFirst(t *testing.T) {
	of := func(server float64) figures { return figures{cpuServer: server} }
	found := []figures{of(0.5), of(0.75), of(2)}
	rows := growthTable(figureTable("tools", []int{1, 100, 10_000}, found), found, []float64{1 << 20, 3 << 19, 1 << 21})
	var tails [][]string
	for _, row := range rows {
		require.Len(t, row, len(rows[0]))
		tails = append(tails, append(row[:1:1], row[len(row)-2:]...))
	}
	require.Equal(t, [][]string{{"tools", "server, × the first", "Redis holds MiB"}, {"1", "1.00", "1.0"}, {"100", "1.50", "1.5"}, {"10,000", "4.00", "2.0"}}, tails)
	idle := []figures{of(0), of(1)}
	require.Contains(t, growthTable(figureTable("tools", []int{1, 2}, idle), idle, []float64{0, 0})[2], "–", "a first run that was too short")
}

func TestBytesAreOfOneThing(t *testing.T) {
	require.Equal(t, []string{"tool", "300", "230", "-1"}, bytesRow("tool", space{total: 1_500_000, keys: 1_150_000, disk: -5000}, 5000))
}

func TestClosedLoopHasAsManyUnderWayAsConnections(t *testing.T) {
	var sent atomic.Int64
	together := make(chan struct{})
	found, err := plan{connections: 8, requests: 8, first: 100}.run(t.Context(), func(_ context.Context, i int) (time.Duration, error) {
		if i < 100 || i >= 108 {
			return 0, errors.New("a number that nobody asked for")
		}
		if sent.Add(1) == 8 {
			close(together)
		}
		<-together
		return 0, nil
	})
	require.NoError(t, err)
	require.EqualValues(t, 8, found.done)
	require.EqualValues(t, 8, found.times.TotalCount())
	require.Positive(t, found.took)
}

func TestFailuresAndWhatIsPendingAreCountedApart(t *testing.T) {
	broken := errors.New("broken")
	found, err := plan{connections: 2, requests: 9}.run(t.Context(), func(_ context.Context, i int) (time.Duration, error) {
		return time.Second, []error{nil, errPending, broken}[i%3]
	})
	require.NoError(t, err)
	require.Equal(t, []int64{6, 3, 3}, []int64{found.done, found.pending, found.failed})
	require.ErrorIs(t, found.failure, broken)
	require.InEpsilon(t, 1000, found.ms(50), 1e-3, "the time that a request has measured itself")
}

// A request that waits because another is slow has waited, and a closed loop would not say so.
func TestOpenLoopCountsFromWhenARequestWasDue(t *testing.T) {
	found, err := plan{connections: 1, rate: 1e6, requests: 3}.run(t.Context(), func(_ context.Context, i int) (time.Duration, error) {
		if i == 0 {
			time.Sleep(20 * time.Millisecond) // a slow answer
		}
		return 0, nil
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, found.times.Min(), int64(19_000))
}

func TestPlanWithoutAnEndIsRefused(t *testing.T) {
	_, err := plan{connections: 1}.run(t.Context(), nil)
	require.ErrorContains(t, err, "an end")
}

func TestTheFakeLLMCallsWhatTheLastTextAsksFor(t *testing.T) {
	for _, test := range []struct {
		texts, tools []string
		finish       string
	}{
		{[]string{calling("earlier", "old"), calling("now", "ring", "light")}, []string{"ring", "light"}, "tool_calls"},
		{[]string{"good morning"}, nil, "stop"},
	} {
		body := testbed.Got(json.Marshal(map[string]any{"messages": test.texts, "tools": []string{}}))(t)
		out := httptest.NewRecorder()
		answering(0).ServeHTTP(out, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(string(body))))
		var answer struct {
			Choices []struct {
				Finish  string `json:"finish_reason"`
				Message struct {
					Calls []struct {
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		require.NoError(t, json.Unmarshal(out.Body.Bytes(), &answer))
		var tools []string
		for _, call := range answer.Choices[0].Message.Calls {
			require.JSONEq(t, llmArguments, call.Function.Arguments)
			tools = append(tools, call.Function.Name)
		}
		require.Equal(t, test.finish, answer.Choices[0].Finish)
		require.Equal(t, test.tools, tools)
	}
}

func pointsOf(n int, value func(minute float64) float64) (points []point) {
	for i := range n {
		points = append(points, point{float64(i), value(float64(i))})
	}
	return points
}

func TestTrendIsTheLineOfLeastSquares(t *testing.T) {
	exact := testbed.Got(trendOf(pointsOf(61, func(at float64) float64 { return 100 + 2*at })))(t)
	require.InDelta(t, 2, exact.slope, 1e-9)
	require.InDelta(t, 0, exact.sure, 1e-9)
	require.InDelta(t, 160, exact.mean, 1e-9)
	require.InDelta(t, 60, exact.span, 1e-9)
	// Worked out by hand: values 1 and 3 in turns, eight times. Their slope is 4/42.
	turns := testbed.Got(trendOf(pointsOf(8, func(at float64) float64 { return 2 - math.Cos(math.Pi*at) })))(t)
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
			found := testbed.Got(trendOf(pointsOf(1000, test.value)))(t)
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
		found := testbed.Got(trendOf(lows(heap(leak))))(t)
		require.Equal(t, wanted, found.verdict(), "%+v", found)
	}
	all := testbed.Got(trendOf(heap(2)))(t)
	require.NotEqual(t, grows, all.verdict(), "%+v", all)
	require.Len(t, lows(heap(0)), 25)
	require.Equal(t, []point{{0, 5}, {1, 3}}, lows([]point{{0, 5}, {1, 3}}), "fewer than windows")
}

// Ten samples of a sawtooth, and a leak as large as its teeth, cannot be told apart.
func TestVerdictOfTooLittleIsUnclear(t *testing.T) {
	found := testbed.Got(trendOf(pointsOf(10, func(at float64) float64 { return 100 + 50*math.Mod(at*7, 11)/11 + at })))(t)
	require.Equal(t, unclear, found.verdict(), "%+v", found)
	_, err := trendOf(pointsOf(enoughPoints-1, func(float64) float64 { return 1 }))
	require.ErrorContains(t, err, "7 samples")
}

// What fills during the warm-up is no leak, and what may grow is not judged.
func TestEachThingThatIsHeldIsJudgedAfterTheWarmUp(t *testing.T) {
	var samples []sample
	for i := range 241 {
		at := float64(i) / 240 // of an hour
		samples = append(samples, sample{time.Duration(i) * 15 * time.Second, []float64{50 + 200*min(at, 0.25), 30 + 12*at, 40, 120, 9, 90, 9000 - 6000*at, 800 * at}})
	}
	rows := testbed.Got(verdictTable(samples, 15*time.Minute))(t)
	verdicts := map[string]string{}
	for _, row := range rows[1:] {
		verdicts[row[0]] = row[len(row)-1]
	}
	require.Equal(t, map[string]string{
		"server RSS MiB": flat, "server heap MiB": grows, "goroutines": flat, "file descriptors": flat, "NATS MiB": flat, "Redis MiB but lasting": flat,
		"keys in Redis but lasting": falls, lasting: "kept for longer",
	}, verdicts)
	require.Contains(t, rows, []string{"server heap MiB", "37.4", "+12.00", "0.00", "+23.4 %", "+23.4 %", "+23.4 %", grows})
	_, err := verdictTable(samples[:62], 15*time.Minute)
	require.ErrorContains(t, err, "2 samples")
}
