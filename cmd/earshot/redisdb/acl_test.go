package redisdb

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/certfiles"
	"earshot/repositories/finding"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
)

const aclFile = "../../../deploy/package/redis-acl.conf"

// userLine is the Redis directive, or ACL line, of a user with exactly Earshot's rights.
func userLine(name, password string) string {
	words := []string{"user", name, "on", ">" + password, "resetkeys", "~" + keyPattern, "resetchannels", "-@all"}
	for _, one := range permitted {
		words = append(words, "+"+one.name)
	}
	return strings.Join(words, " ")
}

func TestTheFileOfTheACLHasWhatIsPermitted(t *testing.T) {
	t.Parallel()
	require.Contains(t, strings.Split(testbed.Read(t, aclFile), "\n"), userLine("earshot", "PASSWORD"))
}

// sources returns the program's source texts without tests.
func sources(t *testing.T) (all []string) {
	for _, folder := range []string{"api", "cmd", "emitter", "httpcall", "matcher", "repositories", "trigger"} {
		err := filepath.WalkDir(filepath.Join("../../..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "redistest") || strings.HasSuffix(path, "acl.go") {
				return err
			}
			text, err := os.ReadFile(path)
			all = append(all, string(text))
			return err
		})
		require.NoError(t, err)
	}
	require.Greater(t, len(all), 300)
	return all
}

// TestWhatIsPermittedIsWhatIsSent compares it with the commands in scripts, and looks for a use of each.
func TestWhatIsPermittedIsWhatIsSent(t *testing.T) {
	t.Parallel()
	all := strings.Join(sources(t), "\n")
	names := lists.Map(permitted, func(one probe) string { return one.name })
	scripts := map[string]bool{}
	for _, found := range regexp.MustCompile(`redis\.p?call\('([A-Za-z]+)'`).FindAllStringSubmatch(all, -1) {
		name := strings.ToLower(found[1])
		require.Contains(t, names, name, "a script sends it")
		scripts[name] = true
	}
	uses := map[string]string{ // if neither a script nor a method has the name
		"client|setname": `ClientName = `, "select": `parsed\.Path`, "asking": `NewClusterClient`, "cluster|slots": `NewClusterClient`, "command": `NewClusterClient`, "wait": `"WAIT"`, "evalsha": `"evalsha"`,
		"xrevrange": `\.XRevRangeN\(`,
	}
	for _, name := range names {
		if scripts[name] || name == "multi" || name == "discard" {
			continue
		}
		use := uses[name]
		if use == "" {
			use = `(?i)\.` + strings.ReplaceAll(name, "|", "") + `\(`
		}
		require.Regexp(t, use, all, "nothing sends %s", name)
	}
}

// asUser is a client with a user of these rules.
func asUser(t *testing.T, server *redistest.Server, rules ...string) redis.UniversalClient {
	command := []any{"ACL", "SETUSER", "earshot", "reset"}
	for _, rule := range append(strings.Fields(userLine("earshot", "p"))[2:], rules...) {
		command = append(command, rule)
	}
	require.NoError(t, server.Client().Do(t.Context(), command...).Err())
	return server.Connect(redis.UniversalOptions{Username: "earshot", Password: "p"})
}

// TestEachCommandThatIsTakenAwayIsNamed removes one after the other.
func TestEachCommandThatIsTakenAwayIsNamed(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	ask := func(rules ...string) finding.Finding {
		client := asUser(t, server, rules...)
		return testbed.Got(permissions(t.Context(), &keyspace.DB{UniversalClient: client}))(t)[0]
	}
	require.Equal(t, finding.Good, ask().Grade, ask().Advice)
	for _, one := range permitted {
		switch one.name {
		case "client|setname": // without it no connection starts
			_, err := permissions(t.Context(), &keyspace.DB{UniversalClient: server.Connect(redis.UniversalOptions{ClientName: "earshot", Username: "earshot", Password: "none"})})
			require.Error(t, err)
		case "multi":
			found := ask("-multi")
			require.Equal(t, finding.Doubtful, found.Grade)
			require.Contains(t, found.Advice, "allow +multi")
		default:
			found := ask("-" + one.name)
			require.Equal(t, finding.Unusable, found.Grade, one.name)
			require.Equal(t, "its user may not +"+one.name, found.Value)
			require.Equal(t, "give its user what deploy/package/redis-acl.conf has: ACL SETUSER … +"+one.name, found.Advice, "it stands behind the value")
		}
	}
	require.Equal(t, "its user may not ~earshot:*", ask("resetkeys", "~earshot:{p0*").Value)
	require.Empty(t, server.Client().Keys(t.Context(), "*").Val(), "nothing was written")
}

// TestAClusterNeedsNoMoreThanThat uses each node as the file's user.
func TestAClusterNeedsNoMoreThanThat(t *testing.T) {
	t.Parallel()
	cluster := redistest.RunCluster(t)
	for _, node := range cluster.Nodes {
		asUser(t, node)
	}
	client := testbed.Got(Open(strings.Replace(cluster.URL(), "redis://", "redis://earshot:p@", 1), certfiles.Files{}))(t)
	t.Cleanup(func() { _ = client.Close() })
	db := &keyspace.DB{UniversalClient: client}
	found, err := findings(t.Context(), db, permissions)
	require.NoError(t, err)
	require.Len(t, found, len(cluster.Nodes))
	require.False(t, slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Grade != finding.Good || f.At == "" }), found)
	for n := range keyspace.Partitions {
		require.NoError(t, client.Set(t.Context(), keyspace.PartitionKeys(n).Confirm(), "1", 0).Err())
	}
	for _, node := range cluster.Nodes {
		require.Empty(t, testbed.Got(node.Client().ACLLog(t.Context(), 10).Result())(t))
	}
}
