// Package sqlquery delivers the effects of SQL tools: it runs the statement of a tool that
// fired on the app's database: PostgreSQL, MySQL (or MariaDB) or SQLite.
//
// Runner is an effect.Deliverer. One Deliver is one attempt: the
// template parameters are pasted, the others bound, the statement runs, and its rows
// become the result of the call, an array of objects. When the next attempt is due is
// for the ledger to say.
//
// What it promises:
//
//   - A parameter reaches the database as a bound value and never as a part of the
//     statement; a template parameter is pasted as its rules (allowedValues, escape)
//     have let it through. One call runs one statement.
//   - Values keep their digits both ways: numbers never pass through a float, unless
//     the database itself keeps floats.
//   - A database that is slow or away holds at most a few attempts of its own app and
//     no others'. No statement runs longer than the tool's time.
//   - No connection is opened that the Dial of its options refuses, and no file that
//     is not under the operator's folder.
//   - No outcome holds a credential, and none the values of a statement that failed.
//
// What it does not promise is that a statement runs once: an answer may be lost, and
// then it runs again, unless the tool is marked as not idempotent.
package sqlquery
