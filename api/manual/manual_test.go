package manual_test

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/docs"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/apitest"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// site serves documents; by default the service's.
func site(t *testing.T, files fs.FS) *apitest.Service {
	return apitest.Serve(t, func(o *api.Options) {
		if o.Manual = files; files == nil {
			o.Manual = docs.Files
		}
	})
}

// reach gets a page without a key.
func reach(s *apitest.Service, at string) string {
	s.T.Helper()
	return string(s.Call("GET", at, "", "Authorization: ").Is(200, "").Body)
}

func paths(t *testing.T) []string {
	list := []string{"/docs"}
	require.NoError(t, fs.WalkDir(docs.Files, ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" && name != "README.md" {
			list = append(list, "/docs/"+strings.TrimSuffix(name, ".md"))
		}
		return err
	}))
	require.Greater(t, len(list), 30)
	return list
}

var (
	links  = regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	marked = regexp.MustCompile(` id="([^"]+)"`)
)

func TestEveryLinkOfTheSiteLeadsSomewhere(t *testing.T) {
	s := site(t, nil)
	pages := map[string]string{}
	read := func(at string) string {
		if at != "/console" && pages[at] == "" { // the console is served besides the API
			pages[at] = reach(s, at)
		}
		return pages[at]
	}
	for _, at := range paths(t) {
		for _, found := range links.FindAllStringSubmatch(read(at), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			to, anchor, _ := strings.Cut(found[1], "#")
			if to == "" {
				to = at
			}
			require.True(t, strings.HasPrefix(to, "/"), "%s links to %s", at, found[1])
			text := read(to)
			if anchor != "" && path.Ext(to) == "" {
				require.Contains(t, text, ` id="`+anchor+`"`, "%s links to %s", at, found[1])
			}
		}
	}
}

func TestEveryPageIsInTheContents(t *testing.T) {
	s := site(t, nil)
	contents, models, all := reach(s, "/docs"), reach(s, "/llms.txt"), reach(s, "/llms-full.txt")
	for _, at := range paths(t)[1:] {
		require.Contains(t, contents, `<a href="`+at+`">`, "deploy/docs/README.md does not link to it")
		require.Regexp(t, `\]\(`+at+`\.md\): \S`, models)
		text := strings.TrimSpace(reach(s, at+".md"))
		require.Contains(t, all, text)
		require.Equal(t, 1, strings.Count(reach(s, at), ` aria-current="page"`), at)
	}
}

func TestIDsOfAPageAreUnique(t *testing.T) {
	s := site(t, nil)
	for _, at := range paths(t) {
		seen := map[string]bool{}
		for _, id := range marked.FindAllStringSubmatch(reach(s, at), -1) {
			require.False(t, seen[id[1]], "%s has #%s twice", at, id[1])
			seen[id[1]] = true
		}
	}
}

// A browser that obeys the policy loads only files of this service, and runs nothing inline.
func TestThePagesLoadNothingFromElsewhere(t *testing.T) {
	s := site(t, nil)
	for _, at := range paths(t) {
		answer := s.Call("GET", at, "", "Authorization: ").Is(200, "")
		require.NotRegexp(t, `(?i)<script[^>]*>[^<]|<style|<iframe|@import|\burl\(|<[^>]+ style=|<[^>]+ on[a-z]+="|(?:src|rel="stylesheet" href)="(?:https?:)?//`, string(answer.Body), at)
		require.Equal(t, "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			answer.Header.Get("Content-Security-Policy"))
	}
	for _, file := range regexp.MustCompile(`"(/docs/_[^"]+)"`).FindAllStringSubmatch(reach(s, "/docs"), -1) {
		answer := s.Call("GET", file[1], "").Is(200, "")
		require.Contains(t, answer.Header.Get("Cache-Control"), "immutable")
		if path.Ext(file[1]) == ".js" {
			require.NotRegexp(t, `https?://|innerHTML|localStorage|document\.cookie`, string(answer.Body))
		}
	}
	require.NotContains(t, s.Call("GET", "/docs/tools", "").Header.Get("Cache-Control"), "immutable")
	s.Call("GET", "/docs/none", "").Problem(404, "this page does not exist")
	site(t, fstest.MapFS{}).Call("GET", "/docs", "").Is(500, "")
	apitest.Serve(t).Call("GET", "/docs", "").Problem(404, "this page does not exist")
}

func TestTheSearchHasEverySectionAndIsSmall(t *testing.T) {
	s := site(t, nil)
	at := regexp.MustCompile(`data-index="([^"]+)"`).FindStringSubmatch(reach(s, "/docs"))[1]
	var index struct{ Sections []struct{ P, T, X string } }
	require.NoError(t, json.Unmarshal([]byte(reach(s, at)), &index))
	known := map[string]string{}
	for _, one := range index.Sections {
		known[one.P] = one.T + "\n" + one.X
	}
	require.Contains(t, known["/docs/errors#all-codes"], "Errors › All codes")
	require.Contains(t, known["/docs/reference/settings#redis"], "EARSHOT_REDIS_WAIT")
	for _, page := range paths(t)[1:] {
		require.Contains(t, known, page)
	}
	require.Less(t, len(s.Ask("GET", at, "", "Accept-Encoding: gzip").Body), 256<<10)
}

func TestMarkdownIsShownAsOnGitHub(t *testing.T) {
	s := site(t, fstest.MapFS{
		"README.md": {Data: []byte("# All\n\n- [One](one.md)\n\n## Parts\n\n[Two](part/two.md#b-and-c), [One](one.md), [law](../../LICENSE)\n")},
		"one.md":    {Data: []byte("# First\n\n![a picture](pictures/p.png)\n\nNext: [two](part/two.md). Some *words*. More.\n\nThe gist. And <more>.\n\n## A `b`, c_d?\n\n```mermaid\ngraph <x>\n```\n\n## A `b`, c_d?\n")},
		"part/two.md": {Data: []byte("# Second\n\n[up](../one.md#a-b-c_d) ![p](../pictures/p.png) [away](../../LICENSE) [out](https://e.example)\n\n" +
			"## B and c\n\n| a | b |\n| --- | --- |\n| 1 \\| 2 | `x` |\n")},
		"pictures/p.png": {Data: []byte("png")},
	})
	contents := reach(s, "/docs")
	require.Contains(t, contents, `<h2>Parts</h2>`)
	require.Contains(t, contents, `<a href="/docs/part/two#b-and-c">Two</a>`)
	require.Contains(t, contents, "law (LICENSE)")
	require.NotContains(t, contents, `href="../`)
	one := reach(s, "/docs/one")
	require.Contains(t, one, `<h2 id="a-b-c_d">A <code>b</code>, c_d?`)
	require.Contains(t, one, `<h2 id="a-b-c_d-1">`)
	require.Contains(t, one, `<pre tabindex="0"><code class="language-mermaid">graph &lt;x&gt;`)
	require.Contains(t, one, `<a href="/docs/part/two" rel="next">Second →</a>`)
	two := reach(s, "/docs/part/two")
	for _, part := range []string{`<a href="/docs/one#a-b-c_d">up</a>`, `<img src="/docs/pictures/p.png" alt="p">`, `away (deploy/LICENSE)`, `<a href="https://e.example">out</a>`, `<td>1 | 2</td>`} {
		require.Contains(t, two, part)
	}
	require.Equal(t, "png", reach(s, "/docs/pictures/p.png"))
	require.Contains(t, reach(s, "/llms.txt"), "- [First](/docs/one.md): The gist.\n\n## Parts\n\n- [Second](/docs/part/two.md): ")
}
