package sqlquery

import (
	"context"
	"database/sql"
	"io/fs"
	"os"
	"sync"
)

// sqliteSession is a connection to a file. It is kept for the next statement as long as
// all that it has run were queries that ended well: these leave nothing behind. Opening
// one costs more than most statements do, since it reads the schema anew.
type sqliteSession struct {
	conn    *sql.Conn
	file    fs.FileInfo // what the path led to when it was opened
	changed bool        // a statement was let do more than read
}

// sqliteSessions are the connections that nobody uses at the moment.
type sqliteSessions struct {
	path string
	mu   sync.Mutex
	free []*sqliteSession
}

// sessionKey is where a context has the session that a connection is opened for.
type sessionKey struct{}

// take returns a session of the file that the path leads to now: a file that was put in
// the place of another is the one that statements find.
func (s *sqliteSessions) take(ctx context.Context, db *sql.DB) (*sqliteSession, error) {
	file, err := os.Stat(s.path)
	for found := s.pop(); found != nil; found = s.pop() {
		if err == nil && os.SameFile(file, found.file) {
			return found, nil
		}
		_ = found.conn.Close() // it has run queries alone
	}
	opened := &sqliteSession{file: file}
	opened.conn, err = db.Conn(context.WithValue(ctx, sessionKey{}, opened))
	return opened, err
}

func (s *sqliteSessions) pop() *sqliteSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.free) - 1
	if last < 0 {
		return nil
	}
	found := s.free[last]
	s.free = s.free[:last]
	return found
}

// give keeps a session for others, or closes it: one that has changed anything, or whose
// last statement failed, is not known to be as a new one would be.
func (s *sqliteSessions) give(used *sqliteSession, failed bool) {
	if failed || used.changed || used.file == nil {
		_ = used.conn.Close() // what was written is written
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, used)
}

// close closes those that nobody uses.
func (s *sqliteSessions) close() {
	for found := s.pop(); found != nil; found = s.pop() {
		_ = found.conn.Close()
	}
}
