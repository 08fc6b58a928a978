package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"earshot/httpcall"
	"earshot/trigger/sqlquery"
)

// dialUnder opens connections to databases under the policy of calls. The two packages
// do not know each other, so a refusal changes its words here.
func dialUnder(policy httpcall.Policy) func(context.Context, string, string) (net.Conn, error) {
	dial := httpcall.Dial(policy)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		var blocked *httpcall.Blocked
		if errors.As(err, &blocked) {
			return nil, fmt.Errorf("%w: %s", sqlquery.ErrRefused, blocked)
		}
		return conn, err
	}
}
