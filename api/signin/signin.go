// Package signin slows down clients that guess credentials: at the console, at the tokens of
// SERMAS, and with bearer keys.
//
// A wrong credential counts against its client, and against its account over all clients. A
// client that has used up its free failures has to pause before its next try; the pause doubles
// from one second to one minute. While it pauses, its tries are answered 429 unseen, right or
// wrong, so that nothing is learned from them.
//
// A right credential from elsewhere is never locked out: pauses belong to a client, and an account
// under attack only takes the free failures from clients that have failed there. A client that
// used the account rightly within a day is let in even while it pauses, and so is a credential
// that is too long to be guessed. The same wrong credential again is a mistake and not a guess, and
// counts once.
//
// The counts are those of one replica and are bounded: the least recently seen client is
// forgotten first.
package signin

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"

	"earshot/api/answer"
	"earshot/repositories/secret"
)

const (
	// freeByClient is how many wrong credentials a client has at one account before it pauses.
	freeByClient = 10
	// freeByAll is how many a client has at all accounts together, and an account from all
	// clients together.
	freeByAll = 100
	// firstPause doubles with each further failure, up to longestPause.
	firstPause   = time.Second
	longestPause = time.Minute
	// forgotten is how long failures count after the last of them.
	forgotten = 10 * time.Minute
	// known is how long a client that used an account rightly is let in during a pause.
	known = 24 * time.Hour
	// mostCounts is how many clients and accounts are counted, at most 1 KiB each.
	mostCounts = 16 << 10
	// mostRemembered is how many of the last wrong credentials of a client are compared.
	mostRemembered = 64
)

// Try is one use of a credential.
type Try struct {
	// Client is the address that it came from.
	Client string
	// Account is whose credential it claims to be, such as an app and one of its modules.
	Account string
	// Credential is what was sent.
	Credential secret.Secret
	// Strong says that the service made the credential at random, so that it cannot be guessed.
	Strong bool
}

// Guard counts failed sign-ins. It is safe for concurrent use.
type Guard struct {
	now      func() time.Time
	failures *prometheus.CounterVec
	refused  *prometheus.CounterVec
	seed     maphash.Seed

	mu     sync.Mutex
	counts *lru.Cache[counted, *count]
}

// count is the failures of a client, of an account, or of a client at an account.
type count struct {
	failures   int
	last       time.Time // failure
	pauseUntil time.Time
	right      time.Time // when the client last used the account rightly
	wrong      []uint64  // hashes of the last wrong credentials
}

// The doors that sign-ins come by, as the metrics name them.
const (
	DoorConsole = "console"
	DoorKey     = "key"
	DoorSERMAS  = "sermas"
)

// New returns a Guard that counts in the registry as well. A second Guard on one registry shares
// the metrics. A nil now is time.Now.
func New(now func() time.Time, registry prometheus.Registerer) *Guard {
	counts, _ := lru.New[counted, *count](mostCounts) // fails for a size of 0 only
	g := &Guard{
		now: now, counts: counts, seed: maphash.MakeSeed(),
		failures: counter(registry, "earshot_signin_failures_total", "Wrong credentials, by door: console, key (a bearer key or token) or sermas (for a token of SERMAS)."),
		refused:  counter(registry, "earshot_signin_refused_total", "Sign-ins that were refused without a check, because their address had failed too often, by door."),
	}
	if g.now == nil {
		g.now = time.Now
	}
	return g
}

func counter(registry prometheus.Registerer, name, help string) *prometheus.CounterVec {
	made := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"door"})
	for _, door := range []string{DoorConsole, DoorKey, DoorSERMAS} {
		made.WithLabelValues(door) // Prometheus sees no increase in a series that begins with 1
	}
	var there prometheus.AlreadyRegisteredError
	if errors.As(registry.Register(made), &there) {
		return there.ExistingCollector.(*prometheus.CounterVec)
	}
	return made
}

// doorKey and clientKey are where a context names the door and the client.
type doorKey struct{}
type clientKey struct{}

// WithClient names the client of a request, for what outlasts the request.
func WithClient(ctx context.Context, client string) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

// ClientIn returns the client that a context names.
func ClientIn(ctx context.Context) string {
	client, _ := ctx.Value(clientKey{}).(string)
	return client
}

// WithDoor names the door that a request came by which another door passes on to REST.
func WithDoor(ctx context.Context, door string) context.Context {
	return context.WithValue(ctx, doorKey{}, door)
}

// DoorOf returns the door that a context names, else DoorKey.
func DoorOf(ctx context.Context) string {
	if door, named := ctx.Value(doorKey{}).(string); named {
		return door
	}
	return DoorKey
}

// ClientOf names the client of a request by its address. Clients of IPv6 are told apart by their
// first 64 bits: the rest is theirs to choose.
func ClientOf(request *http.Request) string {
	at, err := netip.ParseAddrPort(request.RemoteAddr)
	if err != nil {
		return request.RemoteAddr // of a door that is no socket
	}
	address := at.Addr().Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	network, _ := address.Prefix(64) // fails for other families only
	return network.String()
}

// Settle decides what a try is answered once its credential was looked at: wrong is nil for a
// right one, else the refusal. It returns wrong, or a 429 with Retry-After where the client has
// to pause. A nil Guard counts nothing.
func (g *Guard) Settle(door string, try Try, wrong error) error {
	if g == nil {
		return wrong
	}
	pause := g.settle(try, wrong == nil)
	if wrong != nil {
		g.failures.WithLabelValues(door).Inc()
	}
	if pause <= 0 {
		return wrong
	}
	g.refused.WithLabelValues(door).Inc()
	seconds := int(math.Ceil(pause.Seconds()))
	return answer.NewProblem(answer.SignInPaused, fmt.Sprintf("too many wrong credentials came from this address: try again in %d s", seconds)).
		With("Retry-After", strconv.Itoa(seconds))
}

// settle counts a try and returns how long its client has to pause; zero where its answer stands.
func (g *Guard) settle(try Try, right bool) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	pair, client, account := g.of(counted{"pair", try.Client, try.Account}, now), g.of(counted{"client", try.Client, ""}, now), g.of(counted{"account", "", try.Account}, now)
	pause := max(pair.pauseUntil.Sub(now), client.pauseUntil.Sub(now))
	if right {
		if pause > 0 && !try.Strong && now.Sub(pair.right) > known {
			return pause
		}
		pair.right = now
		return 0
	}
	if pause > 0 || pair.repeats(maphash.String(g.seed, try.Credential.Reveal())) {
		return pause
	}
	free := freeByClient
	if account.failures >= freeByAll {
		free = 1
	}
	if try.Strong {
		free = freeByAll
	}
	pair.fail(now, free)
	client.fail(now, freeByAll)
	account.fail(now, math.MaxInt) // an account never pauses: that would lock its owner out
	return 0
}

// counted is whose failures are counted: a client's, an account's, or those of a pair of them.
type counted struct{ kind, client, account string }

// of returns a count, which begins anew when its failures are forgotten.
func (g *Guard) of(key counted, now time.Time) *count {
	found, has := g.counts.Get(key)
	if !has {
		found = &count{right: now.Add(-2 * known)}
		g.counts.Add(key, found)
	}
	if now.Sub(found.last) > forgotten {
		found.failures, found.wrong = 0, nil
	}
	return found
}

// fail counts a failure. After free of them each is followed by a pause.
func (c *count) fail(now time.Time, free int) {
	c.failures, c.last = c.failures+1, now
	if beyond := c.failures - free; beyond >= 0 {
		c.pauseUntil = now.Add(min(longestPause, firstPause<<min(beyond, 6)))
	}
}

// repeats reports whether a wrong credential was among the last ones, and remembers it.
func (c *count) repeats(hash uint64) bool {
	if slices.Contains(c.wrong, hash) {
		return true
	}
	if c.wrong = append(c.wrong, hash); len(c.wrong) > mostRemembered {
		c.wrong = slices.Delete(c.wrong, 0, 1)
	}
	return false
}
