package ledger

// Waiting returns the number of messages of an app that wait to be accepted.
func (l *Ledger) Waiting(appID string) int {
	l.accepts.mu.Lock()
	defer l.accepts.mu.Unlock()
	return len(l.accepts.waiting[appID])
}
