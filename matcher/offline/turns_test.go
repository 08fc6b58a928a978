package offline_test

import "testing"

// In a conversation an answer is for what was asked, unless its words tell otherwise.

func TestASoundOfHesitationThatIsANameIsOneWithACapital(t *testing.T) {
	t.Parallel()
	talks(t, `
money: Send 50 euros > Ben = {"amount":50,"recipient":"Ben"}
money: Send 50 euros > to Ben = {"amount":50,"recipient":"Ben"}
money: Send 50 euros > to Anna, no, to Ben = {"amount":50,"recipient":"Ben"}
money: Send 50 euros > an Anna, nein, an Ben = {"amount":50,"recipient":"Ben"}
money: Send 50 euros > Ben, à Paul = {"amount":50,"recipient":"Paul"}
money: Send 50 euros > ben = `)
}
