package keyspace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Shard holds some of the partitions: a master of a cluster, or the single server.
type Shard struct {
	// Name identifies a shard without its address: by one of its slots. It is empty for the single server.
	Name string
	// Err is why it takes no writes; nil if it does. It wraps ErrUnavailable, and ErrMemory if it is full.
	Err error
}

// shardWait is how long to wait for the other shards once one has answered. A lost master never answers, and health
// checks must not wait long.
const shardWait = 500 * time.Millisecond

var errNoAnswer = errors.New("no answer, while another shard has answered")

// Shards asks all shards concurrently whether they take writes; PING would not do, because a node answers it even
// when its cluster is down. They are ordered by partition.
func (db *DB) Shards(ctx context.Context) []Shard { return db.probe(ctx, db.mayWrite) }

// ReplicatedShards is like Shards. If answers wait for replicas, a shard with too few of them has ErrReplicas.
func (db *DB) ReplicatedShards(ctx context.Context) []Shard {
	short := *db
	short.Replicas.Timeout = min(db.Replicas.Timeout, shardWait/2)
	return db.probe(ctx, func(ctx context.Context, partitions []int) error {
		if err := db.mayWrite(ctx, partitions); err != nil {
			return err
		}
		return short.confirmWrites(ctx, PartitionKeys(partitions[0]))
	})
}

func (db *DB) probe(ctx context.Context, ask func(ctx context.Context, partitions []int) error) []Shard {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	shards, holders := db.layout(ctx)
	type answer struct {
		shard int
		err   error
	}
	answers := make(chan answer, len(shards))
	for i, h := range holders {
		shards[i].Err = h.locate(fmt.Errorf("%w: %w", ErrUnavailable, errNoAnswer))
		go func() { answers <- answer{i, h.locate(ask(ctx, h.partitions))} }()
	}
	var late <-chan time.Time
	for range shards {
		select {
		case reply := <-answers:
			shards[reply.shard].Err = reply.err
			if reply.err == nil && late == nil {
				late = time.After(shardWait)
			}
		case <-late:
			return shards
		}
	}
	return shards
}

// holder is a shard's known address, with its partitions.
type holder struct {
	address    string // empty for the single server
	partitions []int
}

func (h holder) locate(err error) error {
	if err == nil || h.address == "" {
		return err
	}
	return fmt.Errorf("%s: %w", h.address, err)
}

func (db *DB) layout(ctx context.Context) ([]Shard, []holder) {
	cluster, isCluster := db.UniversalClient.(*redis.ClusterClient)
	if !isCluster {
		return make([]Shard, 1), []holder{{partitions: AllPartitions()}}
	}
	var shards []Shard
	var holders []holder
	byAddress := map[string]int{}
	for n, key := range AllDue() {
		address := "cluster" // if no node has described the cluster
		if node, err := cluster.MasterForKey(ctx, key); err == nil {
			address = node.Options().Addr
		}
		i, known := byAddress[address]
		if !known {
			i = len(shards)
			byAddress[address] = i
			shards, holders = append(shards, Shard{Name: fmt.Sprintf("shard of slot %d", slot(key))}), append(holders, holder{address: address})
		}
		holders[i].partitions = append(holders[i].partitions, n)
	}
	return shards, holders
}

// slot returns the hash slot of a key of a partition: the CRC16 (XMODEM) of its tag.
func slot(key string) int {
	crc := uint16(0)
	for _, char := range []byte(key[len("earshot:{") : tagLength-2]) {
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

func (db *DB) mayWrite(ctx context.Context, partitions []int) error {
	pipe := db.Pipeline()
	for _, n := range partitions {
		key := PartitionKeys(n).Due()
		if db.Embedded {
			pipe.Exists(ctx, key)
		} else {
			pipe.Eval(ctx, probeScript, []string{key})
		}
	}
	_, err := pipe.Exec(ctx)
	return Unavailable(err)
}

// probeScript is refused wherever writing scripts are: by a full Redis, a replica, and a master with too few
// replicas.
const probeScript = "#!lua\nreturn 1"
