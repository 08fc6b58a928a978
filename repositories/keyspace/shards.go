package keyspace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Shard is what holds some of the partitions: a master of a cluster, or the one server.
type Shard struct {
	// Name tells a shard from the others, and not where it is: one of its slots. It is empty for
	// the one server.
	Name string
	// Err is why it takes no writes; nil where it does. It wraps ErrUnavailable, and ErrMemory
	// where it is full.
	Err error
}

// straggle is how long the others are waited for once a shard has answered: a master that is
// away answers with nothing, and those who ask whether anything can be done do not wait long.
const straggle = 500 * time.Millisecond

var errStraggles = errors.New("no answer, while another shard has answered")

// Shards asks all shards at once whether they take writes: a node of a cluster answers PING for
// itself when its cluster serves nobody. They come in the order of their partitions.
func (db *DB) Shards(ctx context.Context) []Shard {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	shards, holders := db.layout(ctx)
	type answer struct {
		shard int
		err   error
	}
	answers := make(chan answer, len(shards))
	for i, one := range holders {
		shards[i].Err = one.locate(fmt.Errorf("%w: %w", ErrUnavailable, errStraggles))
		go func() { answers <- answer{i, one.locate(db.mayWrite(ctx, one.keys))} }()
	}
	var late <-chan time.Time
	for range shards {
		select {
		case got := <-answers:
			shards[got.shard].Err = got.err
			if got.err == nil && late == nil {
				late = time.After(straggle)
			}
		case <-late:
			return shards
		}
	}
	return shards
}

// holder is where a shard is, as far as is known, with a key of each of its partitions.
type holder struct {
	address string // empty of the one server
	keys    []string
}

// locate adds to an error where it is from.
func (h holder) locate(err error) error {
	if err == nil || h.address == "" {
		return err
	}
	return fmt.Errorf("%s: %w", h.address, err)
}

func (db *DB) layout(ctx context.Context) ([]Shard, []holder) {
	cluster, several := db.UniversalClient.(*redis.ClusterClient)
	if !several {
		return make([]Shard, 1), []holder{{keys: AllDue()}}
	}
	var shards []Shard
	var holders []holder
	at := map[string]int{}
	for _, key := range AllDue() {
		address := "cluster" // where no node has told what it is made of
		if node, err := cluster.MasterForKey(ctx, key); err == nil {
			address = node.Options().Addr
		}
		i, known := at[address]
		if !known {
			i = len(shards)
			at[address] = i
			shards, holders = append(shards, Shard{Name: fmt.Sprintf("shard of slot %d", slot(key))}), append(holders, holder{address: address})
		}
		holders[i].keys = append(holders[i].keys, key)
	}
	return shards, holders
}

// slot is the hash slot of a key that is of a partition: the CRC16 (XMODEM) of its tag.
func slot(key string) int {
	crc := uint16(0)
	for _, char := range []byte(key[len("earshot:{") : ofPartition-2]) {
		crc ^= uint16(char) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return int(crc) % 16384
}

func (db *DB) mayWrite(ctx context.Context, keys []string) error {
	pipe := db.Pipeline()
	for _, key := range keys {
		if db.Embedded {
			pipe.Exists(ctx, key)
		} else {
			pipe.Eval(ctx, writesNothing, []string{key})
		}
	}
	_, err := pipe.Exec(ctx)
	return Unavailable(err)
}

// writesNothing is refused wherever a script that writes is: by a Redis that is full, by a
// replica, and by a master that has too few of them.
const writesNothing = "#!lua\nreturn 1"
