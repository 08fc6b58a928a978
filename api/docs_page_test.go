package api_test

import (
	"html/template"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePageListsEveryOperationFieldAndEvent(t *testing.T) {
	s := serve(t)
	page := string(s.call("GET", "/docs", "").is(200, "").body)
	for operation := range s.routes() {
		method, path, _ := strings.Cut(operation, " ")
		require.Contains(t, page, `<span class="method `+method+`">`+method+`</span><code class="path">`+path+`</code>`)
	}
	for _, kind := range []string{"/openapi.json", "/asyncapi.json"} {
		walk("", s.document(kind), func(pointer string, value map[string]any) {
			properties, ok := value["properties"].(map[string]any)
			if !ok || strings.HasSuffix(pointer, "/properties") {
				return
			}
			for name, field := range properties {
				require.True(t, strings.Contains(page, "<code>"+name+"</code>") || strings.Contains(page, "."+name+"</code>"), pointer+"/"+name)
				require.True(t, strings.Contains(page, template.HTMLEscapeString(field.(map[string]any)["description"].(string))), pointer+"/"+name)
			}
		})
	}
	for _, word := range []string{`id="faults"`, `id="undecided"`, "tool.notmatching.{appId}.{sessionId}", "RFC 9457", "webhook-signature", `name="viewport"`} {
		require.Contains(t, page, word)
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		require.Equal(t, 1, strings.Count(page, `id="`+link[1]+`"`), link[1])
	}
}

// A browser that keeps to the policy runs and loads what this service serves, and nothing
// that stands in the page.
func TestThePageLoadsNothingFromElsewhere(t *testing.T) {
	s := serve(t)
	got := s.call("GET", "/docs", "")
	page := string(got.body)
	require.Equal(t, "text/html; charset=UTF-8", got.Header.Get("Content-Type"))
	require.NotRegexp(t, `(?i)<script[^>]*>[^<]|<style|<img|<iframe|@import|\burl\(| style=| on[a-z]+="`, page)
	require.Equal(t, "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		got.Header.Get("Content-Security-Policy"))
	files := regexp.MustCompile(`(?:src|rel="stylesheet" href)="([^"]+)"`).FindAllStringSubmatch(page, -1)
	require.Len(t, files, 2)
	for _, file := range files {
		got := s.call("GET", file[1], "").is(200, "")
		require.Contains(t, got.Header.Get("Cache-Control"), "immutable")
		require.NotRegexp(t, `https?://|@import|\burl\(|innerHTML|localStorage|sessionStorage|document\.cookie`, string(got.body))
	}
	s.call("GET", "/docs/docs.0.js", "").problem(404, "no such file")
}

func TestThePageIsSmall(t *testing.T) {
	s := serve(t)
	size := 0
	page := string(s.call("GET", "/docs", "").body)
	files := regexp.MustCompile(`"(/docs/docs\.[^"]+)"`).FindAllStringSubmatch(page, -1)
	for _, path := range append(files, []string{"", "/docs"}) {
		got := s.call("GET", path[1], "", "Accept-Encoding: gzip")
		require.Equal(t, "gzip", got.Header.Get("Content-Encoding"), path[1])
		size += len(got.body)
	}
	require.Less(t, size, 60<<10)
}

func TestTheRootLeadsToThePage(t *testing.T) {
	s := serve(t)
	require.Equal(t, "/docs", s.call("GET", "/", "", "Authorization: ").is(302, "").Header.Get("Location"))
}
