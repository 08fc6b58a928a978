package repositories_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
)

func TestCheckFindsReferencesThatTheAppLacks(t *testing.T) {
	r, err := repositories.DecodeRepository(clinic, "r", []byte(`{"tools":[
	  {"name":"a","url":"https://h/","request":{"moduleId":"calender"}},
	  {"name":"b","authRequired":["google","acme"],
	   "schema":[{"parameter":"x","type":"string"},{"parameter":"user","type":"string","authServices":[{"name":"google","field":"sub"},{"name":"gogle","field":"sub"}]}]},
	  {"name":"c","parameters":{"type":"object","properties":{"user":{"authServices":[{"name":"other","field":"sub"}]}}}}]}`))
	require.NoError(t, err)
	app := &repositories.App{
		Modules:      []repositories.Module{{ID: "calendar"}},
		AuthServices: []repositories.AuthService{{Name: "google"}},
	}
	require.Equal(t, []string{
		`/tools/0/request/moduleId: the app has no module "calender"; did you mean "calendar"?`,
		`/tools/1/authRequired/1: the app has no authentication service "acme"; it has google`,
		`/tools/1/schema/1/authServices/1/name: the app has no authentication service "gogle"; did you mean "google"?`,
		`/tools/2/parameters/properties/user/authServices/0/name: the app has no authentication service "other"; it has google`,
	}, faultsOf(t, r.Check(app)))

	require.Contains(t, faultsOf(t, r.Check(&repositories.App{})), `/tools/0/request/moduleId: the app has no module "calender"; it has none at all`)
}

func TestCheckPassesWhatTheAppHas(t *testing.T) {
	r, err := repositories.DecodeRepository(clinic, "booking", []byte(booking))
	require.NoError(t, err)
	require.NoError(t, r.Check(&repositories.App{Modules: []repositories.Module{{ID: "calendar", TokenURL: "https://id.example.org/"}}}))
	require.Equal(t, []string{`/tools/0/request/moduleId: module "calendar" has no tokenUrl, so that there is no token to call with; give it one`},
		faultsOf(t, r.Check(&repositories.App{Modules: []repositories.Module{{ID: "calendar"}}})), "it is for clients alone")
}

func TestCompileGivesARecordItsParametersBack(t *testing.T) {
	decoded, err := repositories.DecodeRepository(clinic, "booking", []byte(booking))
	require.NoError(t, err)
	stored, err := json.Marshal(decoded)
	require.NoError(t, err)
	var record repositories.Repository
	require.NoError(t, json.Unmarshal(stored, &record))
	require.Empty(t, record.Tools[0].Params().Names(), "nothing is compiled yet")
	require.NoError(t, record.Compile())
	require.Equal(t, decoded.Tools[0].Params().ModelSchema(), record.Tools[0].Params().ModelSchema())
	require.Equal(t, decoded.Tools[0].Params().List(), record.Tools[0].Params().List())
}

func TestCompileNamesWhatThisVersionRefuses(t *testing.T) {
	record := repositories.Repository{Tools: []repositories.Tool{
		{Name: "a", Schema: json.RawMessage(`[{"parameter":"p","type":"unknown"}]`)},
		{Name: "b", Parameters: json.RawMessage(`{"type":5}`)},
		{Name: "c", Schema: json.RawMessage(`[`)},
		{Name: "d", Schema: json.RawMessage(`[{"parameter":5}]`)},
	}}
	lines := faultsOf(t, record.Compile())
	require.Len(t, lines, 4)
	require.Contains(t, lines[0], `/tools/0/schema/0/type: "unknown" is not a type`)
	require.Contains(t, lines[1], `/tools/1/parameters/type: is not JSON Schema: 5 is not`)
	require.Contains(t, lines[2], `/tools/2/schema: is not a list of parameters`)
	require.Contains(t, lines[3], `/tools/3/schema/0: is not the definition of a parameter`)
}
