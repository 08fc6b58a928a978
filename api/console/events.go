package console

import (
	"net/http"
	"regexp"
	"strconv"
)

// maxBack is how many past events a stream may start with: cheap for the broker.
const maxBack = 2000

// follow streams the events of the app or session to a page. With back it starts with past events, if they
// are among that many last events of all apps. A reconnecting browser resumes.
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
		// If the last event is unknown, the stream starts now.
		if got, err := v.record(http.MethodHead, path, nil); err == nil {
			if found := firstID.FindSubmatch(got.Body.Bytes()); found != nil {
				now, _ := strconv.ParseUint(string(found[1]), 10, 64) // zero if it overflows
				last = strconv.FormatUint(now-min(now, back, maxBack), 10)
			}
		}
	}
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	c.rest.ServeHTTP(w, request)
}

// firstID matches the first id of a stream, the event after which it starts.
var firstID = regexp.MustCompile(`(?m)^id: (\d+)$`)
