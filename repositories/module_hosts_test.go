package repositories_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/fault"
)

func TestHostsOfAModuleAreComparedAsCertificatesDo(t *testing.T) {
	module := repositories.Module{TokenURL: "https://Login.example:8443/token", Hosts: []string{"Calendar.example", "*.clinic.example", "192.0.2.7", "2001:db8::1"}}
	for _, host := range []string{"login.example", "calendar.example", "CALENDAR.example.", "a.clinic.example", "192.0.2.7", "2001:DB8:0::1"} {
		require.True(t, module.Reaches(host), host)
	}
	for _, host := range []string{"", "example", "clinic.example", "a.b.clinic.example", "evilclinic.example", "calendar.example.evil.example", "x.calendar.example", "7", "192.0.2.8"} {
		require.False(t, module.Reaches(host), host)
	}
}

func TestHostsOfAModuleThatAreNoneAreFaults(t *testing.T) {
	body := func(host string) []byte {
		return []byte(`{"modules":[{"moduleId":"m","secret":"s","tokenUrl":"https://x.example/","hosts":["a.example","` + host + `"]}]}`)
	}
	for _, host := range []string{"", "*", "*.", "**.example", "a.*.example", "a*.example", "https://a.example", "a.example:443", "a.example/x", "a b", "[::1]", "u@a.example", strings.Repeat("a", 300)} {
		_, err := repositories.DecodeApp("a", body(host))
		var faults fault.List
		require.ErrorAs(t, err, &faults, host)
		require.Equal(t, "/modules/0/hosts/1", faults[0].Pointer, host)
	}
	for _, host := range []string{"b.example", "*.example", "localhost", "::1", "10.0.0.1"} {
		_, err := repositories.DecodeApp("a", body(host))
		require.NoError(t, err, host)
	}
}
