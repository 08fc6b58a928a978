package offline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	packing   = `{"name":"pack","description":"Put things on the packing list","schema":[{"parameter":"things","type":"array","items":{"name":"thing","description":"a thing","type":"string"},"required":true}],"examples":["Put [socks and a towel](things) on the packing list"]}`
	unpacking = `{"name":"unpack","description":"Strike things off the packing list","schema":[{"parameter":"things","type":"array","items":{"name":"thing","description":"a thing","type":"string"},"required":true}],"examples":["Take [socks](things) off the packing list"]}`
	snacks    = `{"name":"order-snacks","description":"Order snacks","schema":[{"parameter":"snacks","type":"array","items":{"name":"snack","description":"a snack","type":"string"},"required":true},{"parameter":"where","type":"string","description":"where to bring them"}],"examples":["I'd like to order [nuts and crisps](snacks)"]}`
	tapas     = `{"name":"pedir-tapas","description":"Pedir tapas","schema":[{"parameter":"tapas","type":"array","items":{"name":"tapa","description":"una tapa","type":"string"},"required":true}],"examples":["Ponme [olivas y jamón](tapas)"]}`
)

func TestTheThingsAfterAVerbAreAnArray(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"Put a map, two torches and some rope on the packing list": `pack {"things":["map","two torches","rope"]}`,
		"Put sunscreen on the packing list, please":                `pack {"things":["sunscreen"]}`,
		"Put pens & paper on the packing list":                     `pack {"things":["pens","paper"]}`,
		"Take the rope off again":                                  `unpack {"things":["rope"]}`,
		"Put something on the packing list":                        `pack misses [things]`,
		"Put pens or paper on the packing list":                    `pack misses [things]`,
		"Order pretzels and cookies":                               `order-snacks {"snacks":["pretzels","cookies"]}`,
		"I'd like to order pretzels to room 12":                    `order-snacks misses [snacks]`,
		"Quiero pedir croquetas, un pincho y pan":                  `pedir-tapas {"tapas":["croquetas","pincho","pan"]}`,
	} {
		assert.Equal(t, want, matched(t, said, packing, unpacking, snacks, tapas), said)
	}
}

func TestAnArrayIsAnsweredAndContinued(t *testing.T) {
	t.Parallel()
	for _, talk := range []struct {
		tool, want string
		said       []string
	}{
		{packing, `pack {"things":["map"]}`, []string{"Put something on the packing list", "it rains", "a map"}},
		{packing, `pack {"things":["map","two torches","rope"]}`, []string{"Put something on the packing list", "a map, two torches and rope please"}},
		{packing, `pack {"things":["torch"]}`, []string{"Put a map on the packing list", "and a torch"}},
	} {
		assert.Equal(t, talk.want, last(t, talk.tool, talk.said...), talk.said)
	}
}
