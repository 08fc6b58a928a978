package sqlquery

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"

	"earshot/repositories"
	"earshot/trigger/effect"
)

// database runs statements. An afterSending error means that the statement may have run.
type database interface {
	run(ctx context.Context, s statement) (*result, error)
	close()
}

// databases is the pool of open databases: one per source of each app, and another one for read-only
// statements.
type databases struct {
	options  Options
	mu       sync.Mutex
	open     map[string]*openDatabase // by app and source
	releases uint64                   // uses that have ended
	// warned has the sources with a logged superuser warning.
	warned *lru.Cache[string, bool]
}

// maxWarned bounds the remembered warnings.
const maxWarned = 1024

// openDatabase is a database of the pool with its users.
type openDatabase struct {
	database
	key         string
	fingerprint [sha256.Size]byte // of the source when it was opened
	slots       *semaphore.Weighted
	users       int
	lastUse     uint64 // value of releases at the end of its last use
	idle        *time.Timer
}

func newDatabases(o Options) *databases {
	warned, _ := lru.New[string, bool](maxWarned) // fails for a size of 0
	return &databases{options: o, open: map[string]*openDatabase{}, warned: warned}
}

// acquire returns the source's database, restricted to queries if readOnly, and its release function. It defers
// the call if the source has no free slot.
func (d *databases) acquire(ctx context.Context, appID string, source repositories.Source, readOnly bool) (database, func(), error) {
	source.ReadOnly = &readOnly
	found, err := d.find(appID, source)
	if err != nil {
		return nil, nil, err
	}
	if !found.slots.TryAcquire(1) {
		waiting, cancel := context.WithTimeout(ctx, d.options.SlotWait)
		err = found.slots.Acquire(waiting, 1)
		cancel()
	}
	if err != nil {
		d.release(found)
		return nil, nil, effect.Deferral(d.options.SlotWait, "the source %q has no room: %d statements of this app are under way on it", source.Name, d.options.SourceLimit)
	}
	return found, func() {
		found.slots.Release(1)
		d.release(found)
	}, nil
}

// find returns the open database of a source, or opens it. It drops one opened before the source changed.
func (d *databases) find(appID string, source repositories.Source) (*openDatabase, error) {
	key, print := appID+" "+source.Name, fingerprint(source)
	if *source.ReadOnly {
		key += " read-only"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if found := d.open[key]; found != nil {
		if found.fingerprint == print {
			found.users++
			return found, nil
		}
		d.drop(found)
	}
	if err := d.makeRoom(appID); err != nil {
		return nil, err
	}
	var opened database
	var err error
	switch source.Type {
	case repositories.SourcePostgres:
		opened, err = openPostgres(source, d.options, func() { d.warnOfSuperuser(appID, source.Name) })
	case repositories.SourceMySQL:
		opened, err = openMySQL(source, d.options)
	case repositories.SourceSQLite:
		opened, err = openSQLite(source, d.options)
	default:
		err = effect.Permanent(effect.ReasonRequest, "the source %q is of type %s, which cannot run statements", source.Name, source.Type)
	}
	if err != nil {
		return nil, err
	}
	found := &openDatabase{database: opened, key: key, fingerprint: print, slots: semaphore.NewWeighted(int64(d.options.SourceLimit)), users: 1}
	d.open[key] = found
	return found, nil
}

// makeRoom drops an unused database if as many are open as may be, of all apps or of this one. An app has at most half,
// so that its slow servers leave room for others.
func (d *databases) makeRoom(appID string) error {
	var oldest, oldestOwn *openDatabase // among the unused ones
	own := 0
	for _, candidate := range d.open {
		isOwn := strings.HasPrefix(candidate.key, appID+" ")
		if isOwn {
			own++
		}
		if candidate.users > 0 {
			continue
		}
		if oldest == nil || candidate.lastUse < oldest.lastUse {
			oldest = candidate
		}
		if isOwn && (oldestOwn == nil || candidate.lastUse < oldestOwn.lastUse) {
			oldestOwn = candidate
		}
	}
	switch {
	case own >= max(d.options.Databases/2, 1) && oldestOwn != nil:
		d.drop(oldestOwn)
	case own >= max(d.options.Databases/2, 1):
		return effect.Deferral(d.options.SlotWait, "%d databases of this app are open, and all of them are in use", own)
	case len(d.open) < d.options.Databases:
	case oldest != nil:
		d.drop(oldest)
	default:
		return effect.Deferral(d.options.SlotWait, "%d databases are open, and all of them are in use", len(d.open))
	}
	return nil
}

// fingerprint returns a hash of all settings that a connection depends on, including credentials.
func fingerprint(source repositories.Source) [sha256.Size]byte {
	settings := map[string]string{}
	for name, value := range source.QueryParams {
		settings[name] = value.Reveal()
	}
	parts, _ := json.Marshal([]any{ // texts always encode
		source.Type, source.Host, source.Port, source.Database, source.User, source.Password.Reveal(), settings,
	})
	return sha256.Sum256(parts)
}

// warnOfSuperuser logs once that the role of a read-only source is a superuser: a function called by a query
// may then make changes.
func (d *databases) warnOfSuperuser(appID, source string) {
	if known, _ := d.warned.ContainsOrAdd(appID+" "+source, true); known {
		return
	}
	d.options.Logger.Warn("source.superuser", "app", appID, "source", source,
		"warning", "the source is readOnly and its role is a superuser: functions that a query calls may still change things; give it a role with the rights to read alone")
}

// release ends a use. A database that stays unused for Options.Idle is closed.
func (d *databases) release(found *openDatabase) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found.users--
	d.releases++
	found.lastUse = d.releases
	switch {
	case found.users > 0:
	case d.open[found.key] != found: // dropped while in use
		go found.close()
	case found.idle == nil:
		found.idle = time.AfterFunc(d.options.Idle, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			if found.users == 0 && d.open[found.key] == found {
				d.drop(found)
			}
		})
	default:
		found.idle.Reset(d.options.Idle)
	}
}

// drop removes a database from the pool. The last user closes it. Closing waits for the network, so it runs in
// the background.
func (d *databases) drop(found *openDatabase) {
	delete(d.open, found.key)
	if found.idle != nil {
		found.idle.Stop()
	}
	if found.users == 0 {
		go found.close()
	}
}

func (d *databases) closeAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, found := range d.open {
		d.drop(found)
	}
}
