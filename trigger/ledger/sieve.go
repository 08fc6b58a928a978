package ledger

import (
	"context"
	"slices"

	"earshot/repositories/keyspace"
)

// sieve leaves those triggers out that cannot be what is searched for. It compares texts,
// as user data is opaque to scripts: whoever reads what is left checks it.
//
//	KEYS triggers
//	ARGV 1 most bytes, 2 state, 3 session, 4 a text of the call's state, 5 one of the record,
//	     6 what the object of the values begins with, 7 a text of what is before it in the
//	     record, each '' for any, then texts of which one stands in a value, in lower case;
//	     none for any value
//	=>   how many were looked at, then the places of those that are left, from 1
//
// It ends early, but not before the first, where it has read that many bytes: Redis serves
// nobody else meanwhile.
var sieve = keyspace.NewReadingScript(`
local most, state, session, failure, text, begins, head = tonumber(ARGV[1]), unpack(ARGV, 2, 7)
local looked, bytes, fields, at = 0, 0, {}, {}
local function reads(asked, ...)
  for _, field in ipairs(asked and {...} or {}) do
    fields[#fields + 1] = field
    at[field] = #fields
  end
end
reads(true, 'open')
reads(state ~= '', 'state', 'event', 'emitter', 'call', 'result')
reads(session ~= '', 'session')
reads(failure ~= '', 'call')
reads(text .. head ~= '' or #ARGV > 7, 'record')
local function has(text, part) return string.find(text, part, 1, true) ~= nil end
local function stands(text)
  text = string.lower(text)
  for i = 8, #ARGV do
    if has(text, ARGV[i]) then return true end
  end
  return false
end
local function closing(record, at)
  while true do
    at = string.find(record, '["\\]', at + 1)
    if not at or string.byte(record, at) == 34 then return at or #record end
    at = at + 1
  end
end
local function said(record, at)
  local depth = 1
  while depth > 0 do
    local token = string.find(record, '["{}]', at + 1)
    if not token then return true end
    if token > at + 2 and stands(string.sub(record, at + 1, token - 1)) then return true end
    local kind = string.byte(record, token)
    if kind == 34 then
      at = closing(record, token)
      local name = string.byte(record, at + 1) == 58
      if not name and stands(string.sub(record, token, at)) then return true end
    else
      at, depth = token, depth + (kind == 123 and 1 or -1)
    end
  end
  return false
end
local function stateOf(held, event, emitter, call, result)
  if held and held ~= '' then return held == 'settling' and 'pending' or held end
  local function is(word) -- a call's result, which is user data, stands behind its state
    local text = '"state":"' .. word .. '"'
    return has(event or '', text) or has(emitter or '', text) or string.sub(call or '', 2, #text + 1) == text
  end
  if is('failed') or has(result or '', '"state":"failed"') then return 'failed' end
  return is('pending') and 'pending' or 'delivered'
end
local function fits(t)
  local record = t[at.record]
  if not t[1] or record == false or state ~= '' and stateOf(t[at.state], t[at.event], t[at.emitter], t[at.call], t[at.result]) ~= state or session ~= '' and t[at.session] ~= session then return false end
  if failure ~= '' and not has(t[at.call] or '', failure) or text ~= '' and not has(record, text) then return false end
  if head == '' and #ARGV == 7 then return true end
  local first, last = string.find(record, begins, 1, true)
  if not first then return true end
  return (head == '' or has(string.sub(record, 1, first), head)) and (#ARGV == 7 or said(record, last))
end
local left = {0}
for i, key in ipairs(KEYS) do
  local t = redis.call('HMGET', key, unpack(fields))
  looked, bytes = i, bytes + #(t[at.record] or '') + #(t[at.call] or '')
  if fits(t) then left[#left + 1] = i end
  if bytes > most then break end
end
left[1] = looked
return left
`)

// Sieve is what a search knows of the JSON of a trigger that it is after. What is empty
// leaves nothing out.
type Sieve struct {
	State   string
	Session string
	Failure string // stands in the state of the call
	Text    string // stands in the record
	// Begins is what the object of the values begins with; Head stands before it.
	Begins, Head string
	// Values are texts in lower case; one stands in a value.
	Values []string
}

// So many triggers, or about so many bytes of them, are looked at by one script: it holds
// Redis for about a millisecond.
const (
	sieveTriggers = 500
	sieveBytes    = 1 << 20
)

// Sift returns the places in ids of the triggers that may be those of a search, in two round
// trips or, where they are large, some more. Those that are gone are left out.
func (l *Ledger) Sift(ctx context.Context, appID string, ids []string, by Sieve) (places []int, err error) {
	type part struct{ from, to int }
	var parts []part
	for from := 0; from < len(ids); from += sieveTriggers {
		parts = append(parts, part{from, min(from+sieveTriggers, len(ids))})
	}
	for len(parts) > 0 {
		calls := make([]keyspace.Call, len(parts))
		for i, p := range parts {
			calls[i] = by.call(keyspace.KeysOf(appID), ids[p.from:p.to])
		}
		replies, err := sieve.RunAll(ctx, l.db, calls)
		if err != nil {
			return nil, err
		}
		var rest []part
		for i, p := range parts {
			looked, left := readSifted(replies[i])
			for _, place := range left {
				places = append(places, p.from+place)
			}
			if p.from += looked; looked > 0 && p.from < p.to {
				rest = append(rest, p)
			}
		}
		parts = rest
	}
	slices.Sort(places)
	return places, nil
}

func (s Sieve) call(k keyspace.Keys, ids []string) keyspace.Call {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = k.Trigger(id)
	}
	args := []any{sieveBytes, s.State, s.Session, s.Failure, s.Text, s.Begins, s.Head}
	for _, text := range s.Values {
		args = append(args, text)
	}
	return keyspace.Call{Keys: keys, Args: args}
}

// readSifted reads a reply of sieve; places count from 0.
func readSifted(raw any) (looked int, left []int) {
	list, _ := raw.([]any)
	for i, item := range list {
		n, _ := item.(int64)
		if i == 0 {
			looked = int(n)
		} else {
			left = append(left, int(n)-1)
		}
	}
	return looked, left
}
