//go:build nightly

package clients

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// TestClientOfSERMASWorksAsItIs has the unmodified @sermas/api-client sign in by a module, and
// mqtt.js ask for whatever there is.
func TestClientOfSERMASWorksAsItIs(t *testing.T) {
	folder := withPackages(t, "sermas")
	s := dev(t)
	for app, secret := range map[string]string{"clinic": "s3cret-of-the-clinic", "other": "s3cret-of-the-other"} {
		s.Call("PUT", "/v1/apps/"+app, `{"modules":[{"moduleId":"avatar","secret":"`+secret+`"}]}`)
	}
	got := run(t, folder, "node", "sermas.mjs", s.URL, "clinic", "avatar", "s3cret-of-the-clinic", "other", "other-avatar", "s3cret-of-the-other")
	require.Regexp(t, "^"+anything(testbed.Read(t, "sermas/sermas.txt"))+"$", got)
}

// asked are the paths that SERMAS's client asks for, and told the topics that it subscribes to, in its own source.
var (
	asked = regexp.MustCompile(`url:"(/api[^"]+)"`)
	told  = regexp.MustCompile(`broker\.subscribe\("([^"]+)"`)
)

func TestPageSaysOfAllThatTheClientKnowsWhatBecomesOfIt(t *testing.T) {
	folder := withPackages(t, "sermas")
	source := testbed.Got(os.ReadFile(filepath.Join(folder, "node_modules/@sermas/api-client/index.js")))(t)
	page := testbed.Read(t, "../docs/from-sermas.md")
	paths, topics := asked.FindAllSubmatch(source, -1), told.FindAllSubmatch(source, -1)
	require.Greater(t, len(paths), 90)
	require.Greater(t, len(topics), 40)
	for _, path := range paths {
		require.Contains(t, page, string(path[1])+"`")
	}
	for _, topic := range topics {
		written := "`" + placeholder.ReplaceAllString(string(topic[1]), "{$1}") + "`"
		_, end, _ := strings.Cut(strings.TrimPrefix(written, "`app/{appId}/"), "/") // a row names more than one
		require.True(t, strings.Contains(page, written) || strings.Contains(page, "/"+end), written)
	}
}

var placeholder = regexp.MustCompile(`:(\w+)`)
