package api_test

import (
	"html/template"
	"regexp"
	"strings"
	"testing"

	"earshot/deploy/testbed/apitest"

	"github.com/stretchr/testify/require"
)

func TestThePageListsEveryOperationFieldAndEvent(t *testing.T) {
	s := apitest.Serve(t)
	page := string(s.Call("GET", "/docs", "").Is(200, "").Body)
	for operation := range s.Routes() {
		method, path, _ := strings.Cut(operation, " ")
		require.Contains(t, page, `<span class="method `+method+`">`+method+`</span><code class="path">`+path+`</code>`)
	}
	for _, kind := range []string{"/openapi.json", "/asyncapi.json"} {
		apitest.Walk("", s.Document(kind), func(pointer string, value map[string]any) {
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
	s := apitest.Serve(t)
	got := s.Call("GET", "/docs", "")
	page := string(got.Body)
	require.Equal(t, "text/html; charset=UTF-8", got.Header.Get("Content-Type"))
	require.NotRegexp(t, `(?i)<script[^>]*>[^<]|<style|<img|<iframe|@import|\burl\(| style=| on[a-z]+="`, page)
	require.Equal(t, "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		got.Header.Get("Content-Security-Policy"))
	files := regexp.MustCompile(`(?:src|rel="stylesheet" href)="([^"]+)"`).FindAllStringSubmatch(page, -1)
	require.Len(t, files, 2)
	for _, file := range files {
		got := s.Call("GET", file[1], "").Is(200, "")
		require.Contains(t, got.Header.Get("Cache-Control"), "immutable")
		require.NotRegexp(t, `https?://|@import|\burl\(|innerHTML|localStorage|sessionStorage|document\.cookie`, string(got.Body))
	}
	s.Call("GET", "/docs/docs.0.js", "").Problem(404, "no such file")
}

func TestThePageIsSmall(t *testing.T) {
	s := apitest.Serve(t)
	size := 0
	page := string(s.Call("GET", "/docs", "").Body)
	files := regexp.MustCompile(`"(/docs/docs\.[^"]+)"`).FindAllStringSubmatch(page, -1)
	for _, path := range append(files, []string{"", "/docs"}) {
		got := s.Call("GET", path[1], "", "Accept-Encoding: gzip")
		require.Equal(t, "gzip", got.Header.Get("Content-Encoding"), path[1])
		size += len(got.Body)
	}
	require.Less(t, size, 60<<10)
}

func TestTheRootLeadsToThePage(t *testing.T) {
	s := apitest.Serve(t)
	require.Equal(t, "/docs", s.Call("GET", "/", "", "Authorization: ").Is(302, "").Header.Get("Location"))
}
