package crash

// Flaw is a fault of the service that the test build can be made to have, so that it is
// seen that deploy/faults finds it. EARSHOT_FLAW names the one of a process.
type Flaw string

// The flaws. Each breaks one thing that the promise rests on, and nothing else.
const (
	CommitWithoutCAS Flaw = "commit-without-cas" // a decision is written although a repository is not as it was matched
	ChangingID       Flaw = "changing-id"        // an event's id changes between attempts
	EarlyPublish     Flaw = "early-publish"      // events are published before it is decided that they are owed
)

// Flaws lists all flaws.
func Flaws() []Flaw { return []Flaw{CommitWithoutCAS, ChangingID, EarlyPublish} }
