package console

import (
	"earshot/api/answer"
	"net/http"
	"regexp"
	"strconv"
)

// maxBack is how far back in the stream of events a page may begin: what a person would
// read, and a moment's work for the broker.
const maxBack = 2000

// follow passes the events of the app, or of a session, on to a page as they come. With
// back it begins with what came before, as far as that is among so many last events of
// all apps. A browser that lost the connection goes on where it was.
func (c *console) follow(w http.ResponseWriter, r *http.Request) {
	v := c.visit(w, r)
	path := v1("apps", v.app(), "events")
	if session := r.PathValue("session"); session != "" {
		path = v1("apps", v.app(), "sessions", session, "events")
	}
	request, err := v.request(http.MethodGet, path, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	last := r.Header.Get("Last-Event-ID")
	if back, err := strconv.ParseUint(r.URL.Query().Get("back"), 10, 64); err == nil && last == "" {
		last = v.before(path, min(back, maxBack))
	}
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	c.rest.ServeHTTP(w, request)
}

// firstID is the beginning of a stream, which says behind which event it begins.
var firstID = regexp.MustCompile(`(?m)^id: (\d+)$`)

// before is the id of the event so many before the last one; empty where it cannot be
// known, and then the stream begins now.
func (v *visit) before(path string, back uint64) string {
	request, err := v.request(http.MethodHead, path, nil)
	if err != nil {
		return ""
	}
	got := answer.Record(v.rest, request)
	found := firstID.FindSubmatch(got.Body.Bytes())
	if got.Status != http.StatusOK || found == nil {
		return ""
	}
	now, _ := strconv.ParseUint(string(found[1]), 10, 64) // zero where it is beyond all streams
	return strconv.FormatUint(now-min(now, back), 10)
}
