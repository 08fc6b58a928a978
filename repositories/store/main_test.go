package store_test

import (
	"testing"

	"earshot/deploy/testbed/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
