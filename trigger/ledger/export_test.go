package ledger

// Waiting is how many messages wait to be accepted in an app.
func (l *Ledger) Waiting(appID string) int {
	l.accepts.mu.Lock()
	defer l.accepts.mu.Unlock()
	return len(l.accepts.waiting[appID])
}
