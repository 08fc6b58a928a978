package store_test

import (
	"testing"

	"earshot/repositories/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
