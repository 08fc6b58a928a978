package redisdb

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Default ports.
const (
	redisPort    = "6379"
	sentinelPort = "26379"
)

const urlForms = "redis://user:password@host:6379/0, rediss://… for TLS, redis://host,host,host for a cluster, or redis+sentinel://host,host,host/master/0"

// nextURL matches the start of another URL in a list.
var nextURL = regexp.MustCompile(`\s*,\s*(rediss?(?:\+sentinel)?://)`)

// urlReader parses REDIS_URL and collects its faults. They contain no values, which may be parts of an
// unencoded password.
type urlReader struct {
	redis.UniversalOptions
	sentinel bool
	faults   []error
}

// ParseURL reads where Redis is:
//
//	redis://[user[:password]@]host[:port][/db]             one server
//	redis://[user[:password]@]host[:port],host[:port]…     a cluster, by some of its nodes
//	redis+sentinel://[user[:password]@]host[:port],…/master[/db]
//	    the master of that name, by its sentinels; ?sentinel_username and
//	    ?sentinel_password are for the sentinels themselves
//
// rediss in place of redis is TLS to every host, whose certificate must be for the
// address that it is reached at; ?skip_verify=true takes any. Further hosts may be
// whole URLs.
func ParseURL(text string) (*redis.UniversalOptions, error) {
	r := &urlReader{}
	parts := strings.Split(nextURL.ReplaceAllString(strings.TrimSpace(text), "\n$1"), "\n")
	scheme, _, _ := strings.Cut(parts[0], "://")
	for i, part := range parts {
		if !r.read(part, scheme, i == 0) {
			break
		}
	}
	if r.sentinel && r.MasterName == "" {
		r.fault("names no master: put its name behind the sentinels, as in redis+sentinel://host/mymaster")
	}
	if !r.sentinel && len(r.Addrs) > 1 && r.DB != 0 {
		r.fault("names a cluster and a database: a cluster has database 0 alone")
	}
	return &r.UniversalOptions, errors.Join(r.faults...)
}

func (r *urlReader) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("REDIS_URL (--redis-url) "+format, args...))
}

// read reads one URL of the list; false if it cannot be split.
func (r *urlReader) read(text, first string, leads bool) bool {
	scheme, rest, _ := strings.Cut(text, "://")
	plain, sentinel := strings.CutSuffix(scheme, "+sentinel")
	r.sentinel = sentinel
	if plain != "redis" && plain != "rediss" {
		r.fault("is no URL of Redis: give it as %s", urlForms)
		return false
	}
	if plain == "rediss" && r.TLSConfig == nil {
		r.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if scheme != first {
		r.fault("mixes URLs of different schemes: all hosts need the same")
	}
	authority, tail := rest, ""
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		authority, tail = rest[:at], rest[at:]
	}
	if strings.ContainsAny(tail, "@#") {
		r.fault("has a user or a password in which /, ?, # or @ are not percent-encoded (%%2F, %%3F, %%23, %%40)")
		return false
	}
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		u, err := url.Parse("redis://" + authority[:at] + "@host")
		password := ""
		if err == nil {
			password, _ = u.User.Password()
		}
		switch { // the first URL has the credentials, others may repeat them
		case err != nil:
			r.fault("has a user or a password with characters that must be percent-encoded")
		case !leads && (u.User.Username() != r.Username || password != r.Password):
			r.fault("gives hosts different users or passwords: all need the same")
		default:
			r.Username, r.Password = u.User.Username(), password
		}
		authority = authority[at+1:]
	}
	for host := range strings.SplitSeq(authority, ",") {
		r.readHost(strings.TrimSpace(host))
	}
	r.readTail(tail)
	return true
}

func (r *urlReader) readHost(text string) {
	n := len(r.Addrs) + 1
	port := redisPort
	if r.sentinel {
		port = sentinelPort
	}
	u, err := url.Parse("redis://" + text)
	if err != nil || u.Hostname() == "" || strings.Contains(u.Hostname(), ":") && text[0] != '[' {
		r.fault("has a host that cannot be read, the %s: give it as host, host:%s or [address]:%s", ordinal(n), port, port)
		r.Addrs = append(r.Addrs, "")
		return
	}
	if u.Port() != "" {
		port = u.Port()
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		r.fault("has a port that is none, at the %s host: ports are 1 to 65535", ordinal(n))
	}
	r.Addrs = append(r.Addrs, net.JoinHostPort(u.Hostname(), port))
}

func ordinal(n int) string {
	names := []string{"first", "second", "third"}
	if n <= len(names) {
		return names[n-1]
	}
	return strconv.Itoa(n) + "th"
}

func (r *urlReader) readTail(text string) {
	u, err := url.Parse("redis://host" + text)
	if err != nil {
		r.fault("has a path that cannot be read")
		return
	}
	words := strings.FieldsFunc(u.Path, func(c rune) bool { return c == '/' })
	if r.sentinel && len(words) > 0 {
		r.MasterName, words = words[0], words[1:]
	}
	if len(words) > 0 {
		number, err := strconv.ParseUint(words[0], 10, 16)
		if err != nil || len(words) > 1 {
			r.fault("has a path that is not the number of a database, as in /0")
		} else {
			r.DB = int(number)
		}
	}
	given, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		r.fault("has parameters that cannot be read")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch value := given.Get(name); {
		case name == "skip_verify" && r.TLSConfig != nil:
			skip, err := strconv.ParseBool(value)
			if err != nil {
				r.fault("has a skip_verify that is neither true nor false")
			}
			r.TLSConfig.InsecureSkipVerify = skip
		case name == "sentinel_username" && r.sentinel:
			r.SentinelUsername = value
		case name == "sentinel_password" && r.sentinel:
			r.SentinelPassword = value
		default:
			r.fault("has the parameter %q, which it does not take: there are skip_verify with rediss, sentinel_username and sentinel_password with sentinels", name)
		}
	}
}
