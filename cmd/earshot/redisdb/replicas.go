package redisdb

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// clientName is the name of the connections of a program that knows formats up to a number.
// Before formats were counted it was earshot alone, which is the first format.
func clientName(known int) string { return fmt.Sprintf("earshot-f%d", known) }

// connected finds the programs in what CLIENT LIST says.
var connected = regexp.MustCompile(`(?m)^id=\d+ addr=(\S+) .*\bname=earshot(?:-f(\d+))? `)

// Older lists the hosts from which programs are connected that know formats below a number
// only. It asks every master of a cluster.
func Older(ctx context.Context, db *keyspace.DB, below int) ([]string, error) {
	var mu sync.Mutex
	var hosts []string
	err := eachMaster(ctx, db, func(ctx context.Context, server redis.Cmdable) error {
		list, err := server.ClientList(ctx).Result()
		if err != nil {
			return fmt.Errorf("look for replicas of an older version by CLIENT LIST, which its user has to be allowed: %w", keyspace.Unavailable(err))
		}
		mu.Lock()
		defer mu.Unlock()
		for _, client := range connected.FindAllStringSubmatch(list, -1) {
			if known, err := strconv.Atoi(client[2]); err == nil && known >= below {
				continue
			}
			if host, _, err := net.SplitHostPort(client[1]); err == nil && !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
		return nil
	})
	slices.Sort(hosts)
	return hosts, err
}
