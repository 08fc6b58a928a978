package repositories_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/fault"
)

func TestUnknownFieldIsHintedAtByTheNearestKnownOne(t *testing.T) {
	for _, test := range []struct{ body, hint string }{
		{`{"nmae":"x"}`, `; did you mean "name"?`},
		{`{"Name":"x"}`, `; did you mean "name"?`},
		{`{"moduls":[]}`, `; did you mean "modules"?`},
		{`{"zzzzzz":1}`, `unknown field "zzzzzz"`},
	} {
		_, err := repositories.DecodeApp("clinic", []byte(test.body))
		var faults fault.List
		require.ErrorAs(t, err, &faults, test.body)
		require.Contains(t, faults[0].Detail, test.hint)
	}
}
