// Package signin slows down clients that guess credentials: at the console, for SERMAS tokens, and with bearer
// keys.
//
// A wrong credential counts against its client, and against its account over all clients. After its free
// failures a client has to pause before each try; the pause doubles from one second to one minute. During a
// pause, tries are answered 429 unseen, right or wrong, so that they reveal nothing.
//
// Right credentials from elsewhere are never locked out: pauses belong to a client, and an account under attack
// only reduces the free failures of clients that have failed there. A client that used the account successfully
// within a day is admitted even during a pause, and so is a credential that is too long to guess. A repeated
// wrong credential counts once, as a mistake.
//
// The counts are per replica and bounded: the least recently seen client is evicted first.
package signin

import (
	"context"
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
	"earshot/api/server"
	"earshot/repositories/secret"
)

const (
	// freeByClient is how many failures a client has at one account before it pauses.
	freeByClient = 10
	// freeByAll is how many a client has at all accounts together, and an account has from all clients
	// together.
	freeByAll = 100
	// firstPause doubles with each further failure, up to longestPause.
	firstPause   = time.Second
	longestPause = time.Minute
	forgotten    = 10 * time.Minute // how long failures count after the last one
	known        = 24 * time.Hour   // how long a successful client is admitted during a pause
	// mostCounts bounds the counted clients and accounts, each at most 1 KiB.
	mostCounts     = 16 << 10
	mostRemembered = 64 // how many recent wrong credentials of a client are compared
)

// Try is one use of a credential.
type Try struct {
	Client     string        // the sender's address
	Account    string        // the claimed owner, such as an app and one of its modules
	Credential secret.Secret // what was sent
	// Strong reports that the service generated the credential at random, so that it cannot be guessed.
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

// count holds the failures of a client, of an account, or of a client at an account.
type count struct {
	failures   int
	last       time.Time // failure
	pauseUntil time.Time
	right      time.Time // last success
	wrong      []uint64  // hashes of recent wrong credentials
}

// Names of the ways to sign in, for metrics.
const (
	DoorConsole = "console"
	DoorKey     = "key"
	DoorSERMAS  = "sermas"
)

// New returns a Guard. Several Guards on one registry share the metrics.
func New(now func() time.Time, registry prometheus.Registerer) *Guard {
	counts, _ := lru.New[counted, *count](mostCounts) // fails only for a size of 0
	label, doors := []string{"door"}, []string{DoorConsole, DoorKey, DoorSERMAS}
	return &Guard{
		now: now, counts: counts, seed: maphash.MakeSeed(),
		failures: server.Counter(registry, "earshot_signin_failures_total", "Wrong credentials, by door: console, key (a bearer key or token) or sermas (for a token of SERMAS).", label, doors...),
		refused:  server.Counter(registry, "earshot_signin_refused_total", "Sign-ins that were refused without a check, because their address had failed too often, by door.", label, doors...),
	}
}

// doorKey and clientKey are the context keys of the door and the client.
type doorKey struct{}
type clientKey struct{}

// WithClient stores the client of a request, for work that outlasts the request.
func WithClient(ctx context.Context, client string) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

// ClientIn returns the client of a context.
func ClientIn(ctx context.Context) string {
	client, _ := ctx.Value(clientKey{}).(string)
	return client
}

// WithDoor stores the original door of a request that is passed on to REST.
func WithDoor(ctx context.Context, door string) context.Context {
	return context.WithValue(ctx, doorKey{}, door)
}

// DoorOf returns the door of a context; default DoorKey.
func DoorOf(ctx context.Context) string {
	if door, named := ctx.Value(doorKey{}).(string); named {
		return door
	}
	return DoorKey
}

// ClientOf returns the client's address. IPv6 clients are identified by their first 64 bits: they can choose
// the rest.
func ClientOf(request *http.Request) string {
	at, err := netip.ParseAddrPort(request.RemoteAddr)
	if err != nil {
		return request.RemoteAddr // not from a socket
	}
	address := at.Addr().Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	network, _ := address.Prefix(64) // fails only for other families
	return network.String()
}

// Settle decides the answer to a try whose credential was checked: wrong is nil for a right one, or else the
// refusal. It returns wrong, or a 429 with Retry-After if the client has to pause. A nil Guard counts nothing.
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

// settle counts a try and returns the client's pause; zero if the answer stands.
func (g *Guard) settle(try Try, right bool) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	name := maphash.String(g.seed, try.Account) // a stranger chooses its length
	pair, client, account := g.of(counted{"pair", try.Client, name}, now), g.of(counted{"client", try.Client, 0}, now), g.of(counted{"account", "", name}, now)
	pause := max(pair.pauseUntil.Sub(now), client.pauseUntil.Sub(now))
	if right {
		if pause > 0 && !try.Strong && now.Sub(pair.right) > known {
			return pause
		}
		pair.right = now
		return 0
	}
	hash := maphash.String(g.seed, try.Credential.Reveal())
	if pause > 0 || slices.Contains(pair.wrong, hash) {
		return pause
	}
	if pair.wrong = append(pair.wrong, hash); len(pair.wrong) > mostRemembered {
		pair.wrong = slices.Delete(pair.wrong, 0, 1)
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
	account.fail(now, math.MaxInt) // pausing an account would lock its owner out
	return 0
}

// counted identifies a count: of a client, an account, or a pair of them. The account is a hash of its name.
type counted struct {
	kind, client string
	account      uint64
}

// of returns a count, reset once its failures are forgotten.
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

// fail counts a failure. After free failures, each starts a pause.
func (c *count) fail(now time.Time, free int) {
	c.failures, c.last = c.failures+1, now
	if beyond := c.failures - free; beyond >= 0 {
		c.pauseUntil = now.Add(min(longestPause, firstPause<<min(beyond, 6)))
	}
}
