package redisdb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/finding"
	"earshot/repositories/keyspace"
)

// reader reads the settings of one server: by CONFIG GET, and where its user may not, as with
// many hosted ones, what INFO says of them. It keeps the first error of a server that does not
// answer.
type reader struct {
	server redis.Cmdable
	unread []string
	err    error
}

// inInfo says where INFO has a setting.
var inInfo = map[string]struct{ section, field string }{
	"maxmemory-policy": {"memory", "maxmemory_policy"}, "maxmemory": {"memory", "maxmemory"},
	"appendonly": {"persistence", "aof_enabled"}, "min-replicas-to-write": {"replication", "min_slaves_good_slaves"},
}

// setting returns a setting, or nothing where it cannot be read, which it notes.
func (r *reader) setting(ctx context.Context, name string) string {
	found, err := r.server.ConfigGet(ctx, name).Result()
	if value, there := found[name]; there {
		return value
	}
	if err != nil && !denied(err) {
		r.err = errors.Join(r.err, keyspace.Unavailable(err))
		return ""
	}
	if value := r.fromInfo(ctx, name); value != "" {
		return value
	}
	r.unread = append(r.unread, name)
	return ""
}

// fromInfo is a setting as INFO has it, in the words of CONFIG.
func (r *reader) fromInfo(ctx context.Context, name string) string {
	place, there := inInfo[name]
	if !there {
		return ""
	}
	info := r.info(ctx, place.section)
	switch value := line(info, place.field); {
	case name == "appendonly" && value != "":
		return map[string]string{"0": "no", "1": "yes"}[value]
	case name == "min-replicas-to-write" && strings.Contains(info, "connected_slaves:"):
		// The field is there where the setting is not 0.
		return map[bool]string{true: "0", false: "1 or more"}[value == ""]
	default:
		return value
	}
}

// info is a section of INFO, or nothing where it may not be read.
func (r *reader) info(ctx context.Context, section string) string {
	info, err := r.server.Info(ctx, section).Result()
	if err != nil && !denied(err) {
		r.err = errors.Join(r.err, keyspace.Unavailable(err))
	}
	return info
}

// note notes what could not be read of the server.
func (r *reader) note(name string) { r.unread = append(r.unread, name) }

// unchecked is the finding of what could not be read.
func (r *reader) unchecked() finding.Finding {
	found := finding.Finding{Check: "settings", Event: "redis.unchecked", Value: "all can be read"}
	if len(r.unread) > 0 {
		found.Grade, found.Value = finding.Doubtful, strings.Join(r.unread, ", ")+" cannot be read"
		found.Advice = fmt.Sprintf("it does not let its user read %s, so nothing is known of it; allow CONFIG GET and INFO (+config|get +info), as deploy/package/redis-acl.conf does, or ask who runs it", strings.Join(r.unread, ", "))
	}
	return found
}

// denied reports whether a server has answered that its user may not, or that it has no such
// command, as hosted ones say.
func denied(err error) bool {
	reply := redis.Error(nil)
	if !errors.As(err, &reply) || errors.Is(err, redis.Nil) {
		return false
	}
	text := reply.Error()
	return strings.HasPrefix(text, "NOPERM") || strings.HasPrefix(text, "ERR") && !strings.HasPrefix(text, "ERR max number of clients")
}

// line is the value of a field in an answer of INFO, empty where it is not there.
func line(info, name string) string {
	_, rest, _ := strings.Cut("\n"+info, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\n")
	return strings.TrimRight(value, "\r")
}
