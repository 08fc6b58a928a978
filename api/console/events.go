package console

import (
	"net/http"
	"regexp"
	"strconv"
)

// maxBack is how far back in the stream of events a page may begin: a moment's work for the broker.
const maxBack = 2000

// follow passes the events of the app, or of a session, on to a page as they come. With
// back it begins with what came before, as far as that is among so many last events of
// all apps. A browser that lost the connection goes on where it was.
func (c *console) follow(w http.ResponseWriter, r *http.Request) {
	v := c.request(w, r)
	path := owner(v.app(), v.session()) + "/events"
	request, err := v.restRequest(http.MethodGet, path, nil)
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

// before is the id of the event so many before the last one; empty if it is not known, and then the
// stream begins now.
func (v *pageRequest) before(path string, back uint64) string {
	got, err := v.record(http.MethodHead, path, nil)
	if err != nil {
		return ""
	}
	found := firstID.FindSubmatch(got.Body.Bytes())
	if found == nil {
		return ""
	}
	now, _ := strconv.ParseUint(string(found[1]), 10, 64) // zero if it is beyond all streams
	return strconv.FormatUint(now-min(now, back), 10)
}
