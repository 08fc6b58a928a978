package natstest

import (
	"os"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"earshot/deploy/testbed"
)

// Operator makes the JWTs of a server in operator mode: an account with JetStream, and its users.
type Operator struct {
	t        testing.TB
	key      nkeys.KeyPair
	account  nkeys.KeyPair
	claims   *jwt.AccountClaims
	system   string
	resolver *server.MemAccResolver
}

// NewOperator makes an operator with its accounts.
func NewOperator(t testing.TB) *Operator {
	t.Helper()
	o := &Operator{t: t, resolver: &server.MemAccResolver{}}
	o.key, _ = o.pair(nkeys.CreateOperator())
	_, o.system = o.pair(nkeys.CreateAccount())
	o.store(jwt.NewAccountClaims(o.system))
	var id string
	o.account, id = o.pair(nkeys.CreateAccount())
	o.claims = jwt.NewAccountClaims(id)
	o.claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: jwt.NoLimit, MemoryStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	o.store(o.claims)
	return o
}

// Configure has a server serve the accounts of the operator alone; see Run.
func (o *Operator) Configure(options *server.Options) {
	o.t.Helper()
	_, id := o.pair(o.key, nil)
	claims := jwt.NewOperatorClaims(id)
	claims.SystemAccount = o.system
	options.TrustedOperators, options.SystemAccount, options.AccountResolver = []*jwt.OperatorClaims{claims}, o.system, o.resolver
}

// User makes a user of the account, and writes its credentials to a file, as nsc does.
func (o *Operator) User(path string) (id string) { return o.UserUntil(path, time.Time{}) }

// UserUntil is User with an end, zero for none.
func (o *Operator) UserUntil(path string, end time.Time) (id string) {
	o.t.Helper()
	pair, id := o.pair(nkeys.CreateUser())
	claims := jwt.NewUserClaims(id)
	if !end.IsZero() {
		claims.Expires = end.Unix()
	}
	token, err := claims.Encode(o.account)
	testbed.Must(o.t, "sign a user", err)
	seed, err := pair.Seed()
	testbed.Must(o.t, "read a seed", err)
	text, err := jwt.FormatUserConfig(token, seed)
	testbed.Must(o.t, "write credentials", err)
	testbed.Must(o.t, "write credentials", os.WriteFile(path, text, 0o600))
	return id
}

// Revoke takes a user out of the account, for servers that start.
func (o *Operator) Revoke(id string) {
	o.t.Helper()
	o.claims.Revoke(id)
	o.store(o.claims)
}

func (o *Operator) store(claims *jwt.AccountClaims) {
	o.t.Helper()
	token, err := claims.Encode(o.key)
	testbed.Must(o.t, "sign an account", err)
	testbed.Must(o.t, "keep an account", o.resolver.Store(claims.Subject, token))
}

func (o *Operator) pair(pair nkeys.KeyPair, err error) (nkeys.KeyPair, string) {
	o.t.Helper()
	testbed.Must(o.t, "make a key", err)
	id, err := pair.PublicKey()
	testbed.Must(o.t, "make a key", err)
	return pair, id
}
