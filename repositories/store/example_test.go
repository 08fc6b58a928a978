package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
)

// An app owns its repositories, so it is stored first. Every replica can read stored data at once; missing data is
// ErrNotFound.
func Example() {
	apps, stop := openStore()
	defer stop()
	ctx := context.Background()

	app, err := repositories.DecodeApp("clinic", []byte(`{"name": "My clinic"}`))
	if err != nil {
		log.Fatal(err)
	}
	created, err := apps.PutApp(ctx, app)
	fmt.Println(created, err)

	scope := repositories.Scope{AppID: "clinic"}
	booking, err := repositories.DecodeRepository(scope, "booking", []byte(
		`{"tools": [{"name": "book", "description": "Book an appointment"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	created, err = apps.PutRepository(ctx, booking)
	fmt.Println(created, err)
	created, err = apps.PutRepository(ctx, booking) // replaces it
	fmt.Println(created, err)

	found, err := apps.Repository(ctx, scope, "booking")
	fmt.Println(found.Tools[0].Description, err)
	_, err = apps.Repository(ctx, repositories.Scope{AppID: "clinic", SessionID: "s1"}, "booking")
	fmt.Println(errors.Is(err, repositories.ErrNotFound))
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
	// Book an appointment <nil>
	// true
}

// openStore opens a store on an in-process Redis, like earshot dev.
func openStore() (opened *store.Store, stop func()) {
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true) // keys expire by the clock
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	sealer, err := store.NewSealer([]byte(strings.Repeat("k", store.KeySize))) // EARSHOT_SECRET_KEY
	if err != nil {
		log.Fatal(err)
	}
	opened = store.New(&keyspace.DB{UniversalClient: client, Embedded: true}, store.Options{Sealer: sealer, SessionTTL: 24 * time.Hour})
	return opened, func() {
		_ = client.Close()
		server.Close()
	}
}
