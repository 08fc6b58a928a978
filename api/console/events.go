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
		// If the last event is not known, the stream begins now.
		if got, err := v.record(http.MethodHead, path, nil); err == nil {
			if found := firstID.FindSubmatch(got.Body.Bytes()); found != nil {
				now, _ := strconv.ParseUint(string(found[1]), 10, 64) // zero if it is beyond all streams
				last = strconv.FormatUint(now-min(now, back, maxBack), 10)
			}
		}
	}
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	c.rest.ServeHTTP(w, request)
}

// firstID is the beginning of a stream, which says behind which event it begins.
var firstID = regexp.MustCompile(`(?m)^id: (\d+)$`)
