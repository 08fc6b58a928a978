package redisdb

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/repositories/certfiles"
)

func TestRedisURLSaysWhereRedisIs(t *testing.T) {
	for text, want := range map[string]redis.UniversalOptions{
		"redis://h":                    {Addrs: []string{"h:6379"}},
		" redis://h:7000/3\n":          {Addrs: []string{"h:7000"}, DB: 3},
		"redis://:p@h":                 {Addrs: []string{"h:6379"}, Password: "p"},
		"redis://u@h/":                 {Addrs: []string{"h:6379"}, Username: "u"},
		"redis://u:a%40b%2Fc,d@h":      {Addrs: []string{"h:6379"}, Username: "u", Password: "a@b/c,d"},
		"redis://u:a@b@h":              {Addrs: []string{"h:6379"}, Username: "u", Password: "a@b"},
		"redis://[::1]:7000,[fe80::1]": {Addrs: []string{"[::1]:7000", "[fe80::1]:6379"}},
		"redis://u:p@a,b:7000, c/0":    {Addrs: []string{"a:6379", "b:7000", "c:6379"}, Username: "u", Password: "p"},
		"redis://u:p@a,redis://b:7000, redis://u:p@c/0": {
			Addrs: []string{"a:6379", "b:7000", "c:6379"}, Username: "u", Password: "p",
		},
		"redis://a,a": {Addrs: []string{"a:6379", "a:6379"}},
		"redis+sentinel://u:p@a,b:7000,c/my-master/2?sentinel_username=s&sentinel_password=q%26r": {
			Addrs: []string{"a:26379", "b:7000", "c:26379"}, MasterName: "my-master", DB: 2,
			Username: "u", Password: "p", SentinelUsername: "s", SentinelPassword: "q&r",
		},
		"redis+sentinel://a/m":                      {Addrs: []string{"a:26379"}, MasterName: "m"},
		"redis+sentinel://a,redis+sentinel://b:1/m": {Addrs: []string{"a:26379", "b:1"}, MasterName: "m"},
	} {
		t.Run(text, func(t *testing.T) {
			require.Equal(t, &want, testbed.Got(ParseURL(text))(t))
		})
	}
}

func TestRedisURLKeepsTLSForEveryHost(t *testing.T) {
	for text, skip := range map[string]bool{
		"rediss://h":                          false,
		"rediss://a,b,c":                      false,
		"rediss://a,rediss://b":               false,
		"rediss+sentinel://a,b/m":             false,
		"rediss://a?skip_verify=true":         true,
		"rediss+sentinel://a/m?skip_verify=1": true,
		"rediss://a,b?skip_verify=false":      false,
	} {
		t.Run(text, func(t *testing.T) {
			got := testbed.Got(ParseURL(text))(t)
			require.Equal(t, skip, got.TLSConfig.InsecureSkipVerify)
			require.Empty(t, got.TLSConfig.ServerName, "every host is checked under its own name")
		})
	}
}

func TestRedisURLMakesTheClientOfItsKind(t *testing.T) {
	for text, cluster := range map[string]bool{
		"redis://a": false, "redis://a,b": true, "redis+sentinel://a,b/m": false,
	} {
		client := testbed.Got(Open(text, certfiles.Files{}))(t)
		_, is := client.(*redis.ClusterClient)
		require.Equal(t, cluster, is, text)
		require.NoError(t, client.Close())
	}
}

func TestRedisURLNamesItsFaultsAndNoPassword(t *testing.T) {
	for text, says := range map[string][]string{
		"":                                {"no URL of Redis"},
		"planted@host":                    {"no URL of Redis", "redis+sentinel://"},
		"host:6379":                       {"no URL of Redis"},
		"http://:planted@host":            {"no URL of Redis"},
		"redis+cluster://:planted@host":   {"no URL of Redis"},
		"redis://":                        {"the first"},
		"redis://:planted@":               {"the first"},
		"redis://:planted@a,,b":           {"the second"},
		"redis://:planted@a,b,c,d:x":      {"the 4th"},
		"redis://:planted@::1":            {"[address]:6379"},
		"redis://:planted@a:0":            {"port", "the first host"},
		"redis://:planted@a,b:65536":      {"port", "the second host"},
		"redis://:planted/x@host":         {"percent-encoded"},
		"redis://:planted#x@host":         {"percent-encoded"},
		"redis://:planted?x=y@host":       {"percent-encoded"},
		"redis://:plan%ted@host":          {"percent-encoded"},
		"redis://:plan\x7fted@host":       {"percent-encoded"},
		"redis://:planted@host/one":       {"number of a database"},
		"redis://:planted@host/-1":        {"number of a database"},
		"redis://:planted@host/0/1":       {"number of a database"},
		"redis://host/%zz":                {"path that cannot be read"},
		"redis://host?a=%zz":              {"parameters that cannot be read"},
		"redis://host?pool_size=3":        {`"pool_size"`, "skip_verify"},
		"redis://host?skip_verify=true":   {`"skip_verify"`},
		"redis://a?sentinel_password=p":   {`"sentinel_password"`},
		"rediss://a?skip_verify=on":       {"neither true nor false"},
		"redis://:planted@a,b/1":          {"a cluster has database 0 alone"},
		"redis://:planted@a,rediss://b":   {"different schemes"},
		"redis://:planted@a,redis://:x@b": {"different users or passwords"},
		"redis+sentinel://:planted@a,b":   {"names no master"},
		"redis+sentinel://:planted@a/m/x": {"number of a database"},
		"redis://:planted@a:x,,b/7?x=1&planted2=1": {
			"the first", "the second", "a cluster has database 0 alone", `"x"`,
		},
	} {
		t.Run(text, func(t *testing.T) {
			_, err := ParseURL(text)
			require.ErrorContains(t, err, "REDIS_URL (--redis-url)")
			for _, words := range says {
				require.ErrorContains(t, err, words)
			}
			require.NotRegexp(t, `planted\b|plan.?ted\b`, err.Error())
		})
	}
}

func FuzzRedisURLKeepsPasswordsToItself(f *testing.F) {
	f.Add("redis://", "@h")
	f.Add("redis://u:", "@a,b/1")
	f.Add("rediss+sentinel://:", "@a:x/m/y?z=1")
	f.Add("redis://a,redis://", "@b")
	f.Add("redis://u:a/", "#@b")
	f.Fuzz(func(t *testing.T, before, after string) {
		const password = "Xq7Planted"
		options, err := ParseURL(before + password + after)
		if err == nil {
			for _, addr := range options.Addrs {
				require.Regexp(t, `:[0-9]+$`, addr)
			}
			return
		}
		if !strings.ContainsAny(before, "?&") { // if it is not a parameter's name
			require.NotContains(t, err.Error(), password)
		}
	})
}
