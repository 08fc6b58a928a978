package main

import (
	"testing"

	"earshot/deploy/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }
