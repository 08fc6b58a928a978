package emitter

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// errDenied means that the NATS user may not do what an event needs.
var errDenied error = &public{"the NATS user of Earshot has no permission", "refuses events: it denies them to the user"}

const (
	// deniedFor is how long a subject counts as denied since it was last tried: longer
	// than the ledger's longest pause between two attempts.
	deniedFor = 5 * time.Minute
	// maxDenied bounds the subjects that are remembered.
	maxDenied = 100
)

// denials keeps the permission violations that the server reports. It reports them beside
// the connection's requests and not in answer to one: whoever waits for an acknowledgement
// would wait in vain.
type denials struct {
	logger *slog.Logger
	now    func() time.Time

	requests *requests

	mu       sync.Mutex
	deniedAt map[string]time.Time // subjects, when they were last denied
	// inbox is the denied subject on which all answers come, where it is denied.
	inbox string
	// deniedIn are the subjects of StreamIn that were denied.
	deniedIn map[string]bool
}

func newDenials(o Options) *denials {
	return &denials{logger: o.Logger, now: o.Now, requests: newRequests(), deniedAt: map[string]time.Time{}, deniedIn: map[string]bool{}}
}

// violation is how a server names what it denies.
var violation = regexp.MustCompile(`Permissions Violation for (Publish to|Subscription to|Publish with Reply of) "([^"]+)"`)

// observe reads what the server reports, and returns false for what is no denial of ours.
func (d *denials) observe(err error) bool {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return false
	}
	found := violation.FindStringSubmatch(err.Error())
	if found == nil {
		return false
	}
	subject, answers := found[2], found[1] != "Publish to"
	if answers && !strings.HasPrefix(subject, nats.InboxPrefix) {
		return false // a subscription of the tail's
	}
	if strings.Contains(subject+".", "."+StreamIn+".") {
		d.denyIn(subject)
	} else {
		d.deny(subject, answers)
	}
	return true
}

// denyIn ends requests about StreamIn, and says so once for what is denied.
func (d *denials) denyIn(subject string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	what, _, _ := strings.Cut(subject, StreamIn) // an acknowledgement has a subject of its own each time
	if !d.deniedIn[what] {
		d.deniedIn[what] = true
		d.logger.Error("answers.denied", "subject", subject,
			"error", "NATS denies this to the user of Earshot: answers that are published are not heard, those over REST are; allow it to publish on $JS.API.> and $JS.ACK."+StreamIn+".>")
	}
	d.requests.end(fmt.Errorf("%w: %q", ErrInDenied, subject), func(of string) bool { return of == StreamIn })
}

func (d *denials) deny(subject string, answers bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := !d.deniedAt[subject].IsZero()
	if answers {
		known, d.inbox = d.inbox != "", subject
	} else if len(d.deniedAt) < maxDenied || known {
		d.deniedAt[subject] = d.now()
	}
	if !known {
		d.logger.Error("publish.denied", "subject", subject,
			"error", "NATS denies this to the user of Earshot; allow it to publish on the subjects of the events and on $JS.API.>, and to subscribe to _INBOX.>")
	}
	d.requests.end(fmt.Errorf("%w for %q", errDenied, subject), func(of string) bool {
		return answers || of == subject || of != StreamIn && strings.HasPrefix(subject, streamAPI)
	})
}

// streamAPI is where the stream is looked after, for every event.
const streamAPI = "$JS.API.STREAM."

// unanswered returns why no answer can come, where that is so. A request must have begun
// before.
func (d *denials) unanswered() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inbox == "" {
		return nil
	}
	return fmt.Errorf("%w for %q", errDenied, d.inbox)
}

// allowed forgets a subject that something was published on.
func (d *denials) allowed(subject string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, denied := d.deniedAt[subject]; denied {
		delete(d.deniedAt, subject)
		d.logger.Info("publish.allowed", "subject", subject)
	}
}

// reset forgets all: a new connection may have other permissions.
func (d *denials) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.deniedAt)
	clear(d.deniedIn)
	d.inbox = ""
}

// denied returns the subjects that are denied now.
func (d *denials) denied() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.deniedAt, func(_ string, last time.Time) bool { return d.now().Sub(last) > deniedFor })
	subjects := slices.Sorted(maps.Keys(d.deniedAt))
	if d.inbox != "" {
		subjects = append(subjects, d.inbox)
	}
	return subjects
}

// err is what Ready says of it.
func (d *denials) err() error {
	subjects := d.denied()
	if len(subjects) == 0 {
		return nil
	}
	return fmt.Errorf("%w for %q (%d denied in all)", errDenied, subjects[0], len(subjects))
}
