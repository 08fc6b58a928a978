package signin_test

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/api/answer"
	"earshot/api/signin"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// desk is a Guard with a test clock.
type desk struct {
	*signin.Guard
	registry *prometheus.Registry
	now      time.Time
}

func newDesk() *desk {
	d := &desk{registry: prometheus.NewRegistry(), now: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)}
	d.Guard = signin.New(func() time.Time { return d.now }, d.registry)
	return d
}

var errWrong = errors.New("wrong")

// wrong tries the n-th wrong credential, right the right one.
func (d *desk) wrong(client, account string, n int) error {
	return d.Settle(signin.DoorConsole, signin.Try{Client: client, Account: account, Credential: secret.New(fmt.Sprintf("guess-%d", n))}, errWrong)
}

func (d *desk) right(client, account string) error {
	return d.Settle(signin.DoorConsole, signin.Try{Client: client, Account: account, Credential: secret.New("right")}, nil)
}

// pauses reports whether an answer is a 429.
func pauses(t *testing.T, err error) bool {
	t.Helper()
	if problem, ok := errors.AsType[*answer.Problem](err); ok {
		header := http.Header{}
		problem.SetHeader(header)
		if problem.Status != http.StatusTooManyRequests || header.Get("Retry-After") == "" {
			t.Fatalf("refused by %d with Retry-After %q", problem.Status, header.Get("Retry-After"))
		}
		return true
	}
	return false
}

func TestAClientThatGuessesPausesLongerAndLonger(t *testing.T) {
	d := newDesk()
	for n := range 10 {
		if err := d.wrong("10.0.0.1", "admin", n); !errors.Is(err, errWrong) {
			t.Fatalf("guess %d: %v, want its own refusal", n, err)
		}
	}
	evaluated := 0
	for n := 10; n < 3610; n++ { // one guess per second for an hour
		d.now = d.now.Add(time.Second)
		if !pauses(t, d.wrong("10.0.0.1", "admin", n)) {
			evaluated++
		}
	}
	if evaluated > 70 {
		t.Errorf("%d guesses were looked at in an hour, want one a minute at most in the end", evaluated)
	}
}

func TestARightCredentialFromElsewhereIsNeverLockedOut(t *testing.T) {
	d := newDesk()
	for n := range 1000 { // of many clients that guess at one account
		_ = d.wrong(fmt.Sprintf("10.0.%d.%d", n%50, n%7), "admin", n)
	}
	if err := d.right("192.0.2.1", "admin"); err != nil {
		t.Errorf("a right credential from elsewhere: %v", err)
	}
	if !pauses(t, d.right("10.0.1.1", "admin")) {
		t.Error("a right guess of a client that pauses was told to be right")
	}
}

func TestAClientThatIsKnownIsLetInDuringAPause(t *testing.T) {
	d := newDesk()
	if err := d.right("10.0.0.1", "admin"); err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		_ = d.wrong("10.0.0.1", "admin", n)
	}
	if err := d.right("10.0.0.1", "admin"); err != nil {
		t.Errorf("the operator of a proxy with a guesser behind it: %v", err)
	}
	d.now = d.now.Add(25 * time.Hour)
	for n := range 100 {
		_ = d.wrong("10.0.0.1", "admin", n)
	}
	if !pauses(t, d.right("10.0.0.1", "admin")) {
		t.Error("what was right a day ago still opens during a pause")
	}
}

func TestTheSameWrongCredentialIsNoGuess(t *testing.T) {
	d := newDesk()
	for range 1000 { // a job with an old key
		if pauses(t, d.wrong("10.0.0.1", "admin", 1)) {
			t.Fatal("a client that only repeats itself was told to pause")
		}
	}
	if err := d.right("10.0.0.1", "admin"); err != nil {
		t.Error(err)
	}
}

func TestAnAccountUnderAttackLeavesOneGuessToEachClient(t *testing.T) {
	d := newDesk()
	looked := 0
	for client := range 300 {
		for n := range 10 {
			if !pauses(t, d.wrong(fmt.Sprintf("client-%d", client), "admin", client*10+n)) {
				looked++
			}
		}
	}
	if looked > 100+300 {
		t.Errorf("%d guesses of 300 clients were looked at, want the free ones of the account and one for each client", looked)
	}
}

func TestAClientCannotSpreadItsGuessesOverAccounts(t *testing.T) {
	d := newDesk()
	looked := 0
	for n := range 1000 {
		if !pauses(t, d.wrong("10.0.0.1", fmt.Sprintf("app-%d", n), n)) {
			looked++
		}
	}
	if looked != 100 {
		t.Errorf("%d guesses at 1,000 accounts were looked at, want 100", looked)
	}
}

func TestLongNamesOfAccountsAreNotKept(t *testing.T) {
	d, long := newDesk(), strings.Repeat("x", 15<<10)
	for n := range 16 << 10 {
		_ = d.wrong("192.0.2.1", fmt.Sprint("module clinic ", n, long), n)
	}
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	require.Less(t, memory.HeapAlloc, uint64(48<<20))
	runtime.KeepAlive(d)
}

func TestGuessesAtTheSameTimeAreCounted(t *testing.T) {
	d := newDesk()
	var wait sync.WaitGroup
	var looked atomic.Int32
	for n := range 500 {
		wait.Go(func() {
			if errors.Is(d.wrong("10.0.0.1", "admin", n), errWrong) {
				looked.Add(1)
			}
		})
	}
	wait.Wait()
	if looked.Load() != 10 {
		t.Errorf("%d of 500 guesses at once were looked at, want 10", looked.Load())
	}
}

func TestACredentialThatCannotBeGuessedPassesDuringAPause(t *testing.T) {
	d := newDesk()
	for n := range 1000 {
		_ = d.wrong("10.0.0.1", "clinic", n)
	}
	err := d.Settle(signin.DoorKey, signin.Try{Client: "10.0.0.1", Account: "clinic", Credential: secret.New("right"), Strong: true}, nil)
	if err != nil {
		t.Errorf("a right key of 256 bits: %v", err)
	}
}

func TestFailuresAreCountedByDoor(t *testing.T) {
	d := newDesk()
	for n := range 15 {
		_ = d.wrong("10.0.0.1", "admin", n)
	}
	found, err := d.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, family := range found {
		for _, metric := range family.Metric {
			counts[family.GetName()+" "+metric.Label[0].GetValue()] = metric.Counter.GetValue()
		}
	}
	if counts["earshot_signin_failures_total console"] != 15 || counts["earshot_signin_refused_total console"] != 5 {
		t.Errorf("counted %v, want 15 failures, 5 of them refused unseen", counts)
	}
}

func TestGuessedKeysPauseTheirClientAndRightOnesPass(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	_, key, err := w.Store.CreateKey(t.Context(), "clinic", store.NewKey{Scopes: []store.Permission{"app"}})
	require.NoError(t, err)
	good := "Authorization: Bearer " + key.Reveal()

	for name, guess := range map[string]func(n int) string{
		"keys of the app": func(n int) string { return fmt.Sprintf("%s%06d", key.Reveal()[:len(key.Reveal())-6], n) },
		"admin keys":      func(n int) string { return fmt.Sprintf("summer-%06d", n) },
	} {
		refused := 0
		for n := range 300 {
			got := w.Call("GET", "/v1/apps/clinic", "", "Authorization: Bearer "+guess(n))
			if got.StatusCode == http.StatusTooManyRequests {
				refused++
				require.NotEmpty(t, got.Header.Get("Retry-After"))
			}
		}
		require.Greater(t, refused, 190, name)
	}
	w.Call("GET", "/v1/apps/clinic", "", good).Is(200, "")
	w.Ask("GET", "/v1/apps/clinic", "").Is(200, "") // the admin signed in from here before
	for range 300 {
		require.Equal(t, 401, w.Call("GET", "/v1/apps/clinic", "", "Authorization: ").StatusCode, "a request without a key is no guess")
	}
}
