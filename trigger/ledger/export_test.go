package ledger

// Waiting returns the number of messages of an app that wait to be accepted.
func (l *Ledger) Waiting(appID string) int { return l.accepts.count(appID) }

// WaitingCommits returns the number of decisions of an app that wait to be committed.
func (l *Ledger) WaitingCommits(appID string) int { return l.commits.count(appID) }

// WaitingReads returns the number of direct triggers of an app that wait to be admitted.
func (l *Ledger) WaitingReads(appID string) int { return l.admits.count(appID) }

func (g *group) count(appID string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting[appID])
}
